import { expect, test as base, type Locator, type Page } from '@playwright/test'
import axe from 'axe-core'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const LAB_FOLDER = new URL('../../labs/read-sync-async/', import.meta.url)
const SHOTS = fileURLToPath(new URL('results/', import.meta.url))

export const LAB = 'read-sync-async'
export const STARTER = readFileSync(new URL('starter/read.js', LAB_FOLDER), 'utf8')
export const REFERENCE = readFileSync(new URL('solutions/reference/read.js', LAB_FOLDER), 'utf8')
/** From POST to grade, on a machine that does other things as well. */
export const GRADED_WITHIN_MS = 60_000

/** Every journey fails on a script error or on anything that the Content-Security-Policy had to block. */
export const test = base.extend<{ clean: undefined }>({
  clean: [
    async ({ context }, use) => {
      const faults: string[] = []
      context.on('weberror', (error) => faults.push(String(error.error())))
      context.on('console', (message) => {
        if (message.text().includes('Content Security Policy')) {
          faults.push(`${message.text()} ${JSON.stringify(message.location())}`)
        }
      })
      await use(undefined)
      expect(faults).toEqual([])
    },
    { auto: true },
  ],
})

export class LabPage {
  readonly page: Page
  readonly code: Locator
  readonly run: Locator
  readonly report: Locator
  readonly points: Locator
  readonly predictions: Locator
  readonly past: Locator

  constructor(page: Page) {
    this.page = page
    this.code = page.locator('.cm-content')
    this.run = page.locator('.run-bar button.run')
    this.report = page.locator('.report')
    this.points = page.getByTestId('points').locator('.got')
    this.predictions = page.locator('#predictions')
    this.past = page.locator('details.past')
  }

  async open(): Promise<void> {
    await this.page.goto(`/labs/${LAB}`)
    await expect(this.code).toBeVisible()
    await expect(this.predictions).toBeVisible()
  }

  /** Replaces the text as a person would: select all, paste. */
  async write(text: string): Promise<void> {
    await this.code.click()
    await this.page.evaluate((clip) => navigator.clipboard.writeText(clip), text)
    await this.page.keyboard.press('ControlOrMeta+A')
    await this.page.keyboard.press('ControlOrMeta+V')
  }

  /** Presses what `press` presses, follows the attempt to its end, and answers its id. */
  async attempt(press: () => Promise<void>, end: 'graded' | 'cancelled' = 'graded'): Promise<string> {
    const made = this.page.waitForResponse(
      (response) => response.request().method() === 'POST' && response.url().includes('/api/v1/attempts'),
    )
    await press()
    const response = await made
    expect(response.status()).toBe(201)
    const { id } = (await response.json()) as { id: string }
    await this.ended(end)
    return id
  }

  async ended(end: 'graded' | 'cancelled'): Promise<void> {
    await expect(this.page.locator('.report[data-state]')).toHaveAttribute('data-state', end, {
      timeout: GRADED_WITHIN_MS,
    })
  }

  check(id: string): Locator {
    return this.report.locator(`[data-check="${id}"]`)
  }
}

/** Looks for faults of accessibility in the page as it is. */
export async function expectAccessible(page: Page): Promise<void> {
  // Colours in the middle of a transition are no colours of ours.
  await page.evaluate(() => {
    for (const animation of document.getAnimations()) {
      // A blinking cursor has no end.
      if (animation.effect?.getComputedTiming().endTime !== Infinity) animation.finish()
    }
  })
  // Evaluated through the debugger, which the page's policy does not bind.
  await page.evaluate(axe.source)
  const violations = await page.evaluate(async () => {
    const found = await (window as unknown as { axe: typeof axe }).axe.run(document, {
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    })
    if (found.passes.length < 10) throw new Error('axe has hardly looked')
    return found.violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ html, target }) => `${target} ${html}`).join('\n  ')}`,
    )
  })
  expect(violations).toEqual([])
}

export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const [content, view] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth])
  expect(content).toBeLessThanOrEqual(view ?? 0)
}

/** Presses Tab until `target` has the focus, as somebody without a mouse does. */
export async function tabTo(page: Page, target: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    if (await target.evaluate((element) => element.matches(':focus'))) return
    await page.keyboard.press(key)
  }
  throw new Error(`${target} is not reached by ${key}`)
}

export async function screenshot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: `${SHOTS}${name}.png` })
}
