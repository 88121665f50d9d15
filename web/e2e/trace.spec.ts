import { expect, type Page } from '@playwright/test'
import { readFile } from 'node:fs/promises'
import {
  expectAccessible,
  expectNoSidewaysScroll,
  LabPage,
  REFERENCE,
  screenshot,
  tabTo,
  test,
} from './support.ts'

class TracePage {
  readonly page: Page
  constructor(page: Page) {
    this.page = page
  }

  list = () => this.page.getByRole('grid')
  rows = () => this.list().getByRole('row')
  current = () => this.list().locator('.line.current')
  count = () => this.page.locator('.filter .count')
  /** The line numbers in sight. */
  numbers = async () => (await this.list().getByRole('rowheader').allInnerTexts()).map(Number)

  async open(): Promise<void> {
    await this.page.getByRole('tab', { name: /^(?:Trace|トレース)$/ }).click()
    await expect(this.count()).toBeVisible()
    await expect(this.rows().first()).toContainText('execve(')
  }

  /** The text of a run, as the API gives it. */
  async text(attempt: string, label = 'default'): Promise<string[]> {
    const answer = await this.page.request.get(`/api/v1/attempts/${attempt}`)
    const { runs } = (await answer.json()) as { runs: { id: string; label: string }[] }
    const run = runs.find((one) => one.label === label)
    const trace = await this.page.request.get(`/api/v1/runs/${run?.id}/trace`)
    return (await trace.text()).trimEnd().split('\n')
  }
}

async function graded(page: Page): Promise<{ id: string; trace: TracePage }> {
  const lab = new LabPage(page)
  await lab.open()
  await lab.write(REFERENCE)
  return { id: await lab.attempt(() => lab.run.click()), trace: new TracePage(page) }
}

test.describe('the raw trace', () => {
  test.use({ locale: 'en-GB', colorScheme: 'light' })

  test('shows, filters, searches and finds lines', async ({ page }) => {
    const { id, trace } = await graded(page)
    const lines = await trace.text(id)
    const having = (part: RegExp) => lines.filter((line) => part.test(line)).length
    await trace.open()
    await expect(page.locator('.pane-editor')).toBeHidden()
    await expect(trace.count()).toHaveText(`${lines.length} lines`)
    await expect(trace.list()).toHaveAttribute('aria-rowcount', String(lines.length))

    await test.step('every line can be reached by keys, and is the line of the text', async () => {
      await trace.list().focus()
      await page.keyboard.press('End')
      await expect(trace.current().getByRole('rowheader')).toHaveText(String(lines.length))
      await expect(trace.current().locator('.text')).toHaveText(lines.at(-1) ?? '')
      await page.keyboard.press('PageUp')
      await page.keyboard.press('Home')
      await page.keyboard.press('ArrowDown')
      await expect(trace.current().locator('.text')).toHaveText(lines[1] ?? '')
      await expect(page).toHaveURL(/#trace\/default\/2$/)
    })

    await test.step('by system call, typed in part or in whole', async () => {
      const calls = page.getByRole('combobox', { name: 'System calls' })
      await calls.fill('openat')
      const opens = having(/^\d+\s+[\d.]+ openat\(/)
      expect(opens).toBeGreaterThan(1)
      await expect(trace.count()).toHaveText(`${opens} of ${lines.length} lines`)
      await calls.fill('no_such_call')
      await expect(page.getByText('No line fits this filter.')).toBeVisible()
      await calls.fill('')
    })

    await test.step('by thread, which has a role', async () => {
      const threads = page.getByRole('combobox', { name: 'Thread' })
      const worker = threads.locator('option', { hasText: 'libuv-worker' }).first()
      await expect(worker).toBeAttached()
      const tid = (await worker.getAttribute('value')) ?? ''
      await threads.selectOption(tid)
      await expect(trace.count()).toHaveText(`${having(new RegExp(`^${tid} `))} of ${lines.length} lines`)
      await expect(trace.rows().first().locator('.role')).toHaveText('libuv-worker')
      await page.getByRole('button', { name: 'Clear the filter' }).click()
    })

    await test.step('by text, in large and small letters, filtered or only marked', async () => {
      await page.getByRole('searchbox', { name: 'Text' }).fill('OS-Release')
      const found = lines.flatMap((line, n) => (/os-release/i.test(line) ? [n + 1] : []))
      await expect(trace.count()).toHaveText(`${found.length} of ${lines.length} lines`)
      await expect.poll(trace.numbers).toEqual(found)
      await expect(trace.current().locator('mark').first()).toHaveText('os-release')
      await page.getByRole('checkbox', { name: 'Matching lines only' }).uncheck()
      await expect(trace.list()).toHaveAttribute('aria-rowcount', String(lines.length))
      await expect(trace.count()).toHaveText(`${found.length} of ${lines.length} lines`)
      const at = async () => Number(await trace.current().getByRole('rowheader').innerText())
      expect(await at()).toBe(found[0])
      await trace.list().focus()
      await page.keyboard.press('n')
      await expect.poll(at).toBe(found[1])
      await page.keyboard.press('Shift+N')
      await page.keyboard.press('Shift+N')
      await expect.poll(at).toBe(found.at(-1))
      await page.getByRole('checkbox', { name: 'Matching lines only' }).check()
    })

    await test.step('going to a hidden line lifts the filter', async () => {
      const field = page.getByRole('textbox', { name: 'Go to line' })
      await field.fill('3')
      await field.press('Enter')
      await expect(trace.current().locator('.text')).toHaveText(lines[2] ?? '')
      await expect(trace.list()).toBeFocused()
      await expect(page.getByRole('status').last()).toContainText('Line 3. The filter hid it')
      await expect(trace.count()).toHaveText(`${lines.length} lines`)
    })
    await screenshot(page, 'desktop-en-trace')
  })

  test('is reached from the evidence, and found again after a reload', async ({ page }) => {
    const { id, trace } = await graded(page)
    const row = new LabPage(page).check('async-on-pool').locator('.row').first()
    const line = Number(await row.locator('.at [aria-hidden]').innerText())
    await row.getByRole('button', { name: `Show line ${line} in the trace` }).click()
    const text = (await trace.text(id))[line - 1] ?? ''
    expect(text).toContain('/etc/os-release')
    await expect(trace.current().locator('.text')).toHaveText(text)
    await expect(trace.current()).toBeInViewport()
    await expect(trace.list()).toBeFocused()
    await page.reload()
    await expect(trace.current().locator('.text')).toHaveText(text)
    await page.goBack()
    await expect(page.locator('.report')).toBeVisible()
  })

  test('of another run is chosen by its label', async ({ page }) => {
    const { id, trace } = await graded(page)
    await trace.open()
    await page.getByRole('combobox', { name: 'Run' }).selectOption({ label: 'pool8' })
    const lines = await trace.text(id, 'pool8')
    await expect(trace.count()).toHaveText(`${lines.length} lines`)
    await expect(trace.rows().first().locator('.text')).toHaveText(lines[0] ?? '')
    await expect(page).toHaveURL(/#trace\/pool8\/1$/)
  })

  test('can be taken away: text, database, timeline', async ({ page }) => {
    const { id, trace } = await graded(page)
    await trace.open()
    await page.getByText('Downloads', { exact: true }).click()
    const take = async (name: string) => {
      const download = page.waitForEvent('download')
      await page.getByRole('link', { name, exact: true }).click()
      return readFile(await (await download).path())
    }
    expect((await take('Raw text')).toString().trimEnd().split('\n')).toEqual(await trace.text(id))
    expect((await take('evidence.sqlite')).subarray(0, 15).toString()).toBe('SQLite format 3')
    const timeline: unknown = JSON.parse((await take('Trace Event JSON')).toString())
    expect(JSON.stringify(timeline)).toContain('"ph"')
  })

  test('that cannot be fetched says so, and is fetched again', async ({ page }) => {
    const { trace } = await graded(page)
    await page.context().route('**/api/v1/runs/*/trace', (route) => route.fulfill({ status: 500, body: '' }))
    await page.getByRole('tab', { name: 'Trace' }).click()
    await expect(page.locator('.trace').getByRole('alert')).toContainText('wrong on our side')
    await page.context().unroute('**/api/v1/runs/*/trace')
    await page.getByRole('button', { name: 'Try again' }).click()
    await expect(trace.rows().first()).toContainText('execve(')
  })
})

test.describe('a trace of 700,000 lines', () => {
  test.use({ locale: 'en-GB', colorScheme: 'light' })

  const LINES = 700_000
  const CALLS = ['openat', 'read', 'epoll_wait', 'write', 'close', 'fstat']
  const lineOf = (n: number) =>
    `${100 + (n % 4)}   1796068214.${String(n).padStart(9, '0')} ${CALLS[n % 6]}(3</srv/app/file-${n}>, ` +
    `"${n % 9_973 === 0 ? 'needle' : 'haystack'}", 4096) = ${n % 2} <0.000${String(n % 1_000).padStart(6, '0')}>`

  test('scrolls, filters and finds without a stall', async ({ page }) => {
    const { trace } = await graded(page)
    const body = Buffer.from(`${Array.from({ length: LINES }, (_, n) => lineOf(n + 1)).join('\n')}\n`)
    expect(body.length).toBeGreaterThan(64 * 1024 * 1024 * 0.9)
    await page
      .context()
      .route('**/api/v1/runs/*/trace', (route) => route.fulfill({ contentType: 'text/plain', body }))
    await page.getByRole('tab', { name: 'Trace' }).click()
    await expect(trace.count()).toHaveText('700,000 lines', { timeout: 60_000 })

    // From here on the page itself may never work for long at a time: the worker does.
    await page.evaluate(() => {
      const stalls: number[] = []
      Object.assign(window, { stalls })
      new PerformanceObserver((list) =>
        stalls.push(...list.getEntries().map(({ duration }) => duration)),
      ).observe({
        type: 'longtask',
      })
    })

    await test.step('wheel and scrollbar: no empty frame', async () => {
      const empty = await trace.list().evaluate(async (list) => {
        let frames = 0
        for (let n = 0; n < 120; n++) {
          list.scrollTop += n < 60 ? 120 : 200_000
          await new Promise(requestAnimationFrame)
          if (!list.querySelector('.line .text')?.textContent) frames++
        }
        return frames
      })
      expect(empty).toBe(0)
      expect(await trace.rows().count()).toBeLessThan(100)
      await expect.poll(async () => (await trace.numbers())[0]).toBeGreaterThan(500_000)
    })

    await test.step('the last line is at the end', async () => {
      await trace.list().focus()
      await page.keyboard.press('End')
      await expect(trace.current().locator('.text')).toHaveText(lineOf(LINES))
      await expect(trace.current()).toBeInViewport()
    })

    await test.step('text, thread and calls', async () => {
      await page.getByRole('searchbox', { name: 'Text' }).fill('NEEDLE')
      await expect(trace.count()).toHaveText('70 of 700,000 lines')
      await page.getByRole('searchbox', { name: 'Text' }).fill('')
      await page.getByRole('combobox', { name: 'Thread' }).selectOption('102')
      await expect(trace.count()).toHaveText('175,000 of 700,000 lines')
      const numbers = Array.from({ length: LINES }, (_, n) => n + 1)
      const both = numbers.filter(
        (n) => n % 4 === 2 && ['epoll_wait', 'close'].includes(CALLS[n % 6] ?? ''),
      ).length
      await page.getByRole('combobox', { name: 'System calls' }).fill('epoll, close')
      await expect(trace.count()).toHaveText(`${both.toLocaleString('en')} of 700,000 lines`)
    })

    await test.step('a line by its number', async () => {
      const field = page.getByRole('textbox', { name: 'Go to line' })
      await field.fill('654,321')
      await field.press('Enter')
      await expect(trace.current().locator('.text')).toHaveText(lineOf(654_321))
      await expect(trace.current()).toBeInViewport()
    })

    const stalls = await page.evaluate(() => (window as unknown as { stalls: number[] }).stalls)
    // Said, not asserted: how smooth it is depends on the machine and on what else runs there.
    const description = stalls.filter((ms) => ms > 50).join(', ') || 'none'
    test.info().annotations.push({ type: 'tasks of over 50 ms', description })
  })
})

for (const [locale, colorScheme] of [
  ['ja-JP', 'dark'],
  ['en-GB', 'light'],
] as const) {
  test.describe(`the trace, ${locale}, ${colorScheme}`, () => {
    test.use({ locale, colorScheme })
    test('axe finds nothing', async ({ page }) => {
      const { trace } = await graded(page)
      await trace.open()
      await page.getByRole('searchbox').fill('os-release')
      await expect(trace.list().locator('mark').first()).toBeVisible()
      await page.locator('.downloads summary').click()
      await expectAccessible(page)
      await screenshot(page, `desktop-${locale.slice(0, 2)}-${colorScheme}-trace-filtered`)
    })
  })
}

test.describe('the trace on a phone', () => {
  test.use({
    locale: 'ja-JP',
    colorScheme: 'dark',
    viewport: { width: 360, height: 740 },
    hasTouch: true,
    isMobile: true,
  })
  test('fits, and axe finds nothing', async ({ page }) => {
    const { trace } = await graded(page)
    await trace.open()
    const box = await trace.list().boundingBox()
    expect(box?.height).toBeLessThan(740)
    await expectNoSidewaysScroll(page)
    await expectAccessible(page)
    await screenshot(page, 'phone-ja-dark-trace')
  })
})

test.describe('with the keyboard alone', () => {
  test.use({ locale: 'en-GB' })
  test('from the tabs to a filtered line', async ({ page }) => {
    const { trace } = await graded(page)
    const tab = page.getByRole('tab', { name: 'Report' })
    await tab.focus()
    await page.keyboard.press('ArrowRight')
    await expect(page.getByRole('tab', { name: 'Trace' })).toBeFocused()
    await expect(trace.rows().first()).toContainText('execve(')
    await tabTo(page, page.getByRole('searchbox', { name: 'Text' }))
    await page.keyboard.type('os-release')
    await expect(trace.current()).toContainText('os-release')
    await tabTo(page, trace.list())
    const before = await trace.current().getByRole('rowheader').innerText()
    await page.keyboard.press('ArrowDown')
    await expect(trace.current().getByRole('rowheader')).not.toHaveText(before)
    const active = (await trace.list().getAttribute('aria-activedescendant')) ?? ''
    await expect(page.locator(`[id="${active}"]`)).toHaveClass(/current/)
  })
})
