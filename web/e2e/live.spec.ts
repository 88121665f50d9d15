import { expect, type Page } from '@playwright/test'
import { expectAccessible, LAB, LabPage, screenshot, test } from './support.ts'

test.use({ locale: 'en-GB', colorScheme: 'light' })

/** Records what arrives over the event stream, and what the live region says. */
async function listen(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const heard = { states: [] as string[], said: [] as string[] }
    Object.assign(window, { heard })
    const Original = window.EventSource
    window.EventSource = class extends Original {
      constructor(url: string | URL) {
        super(url)
        this.addEventListener('attempt', (event) => heard.states.push(JSON.parse(event.data).state))
      }
    }
    document.addEventListener('DOMContentLoaded', () => {
      new MutationObserver(() => {
        const text = document.querySelector('[role="status"][aria-live]')?.textContent
        if (text && text !== heard.said.at(-1)) heard.said.push(text)
      }).observe(document.body, { subtree: true, childList: true, characterData: true })
    })
  })
}

interface Heard {
  states: string[]
  said: string[]
}
const heardBy = (page: Page) => page.evaluate(() => (window as unknown as { heard: Heard }).heard)

test('state changes come over the event stream, are shown, and are spoken', async ({ page }) => {
  await listen(page)
  const lab = new LabPage(page)
  await lab.open()
  const asked: string[] = []
  page.on('request', (request) => {
    if (request.method() === 'GET' && /\/attempts\/[^/]+\?/.test(request.url())) asked.push(request.url())
  })
  await lab.attempt(() => lab.run.click())
  const { states, said } = await heardBy(page)
  const order = ['queued', 'running', 'graded']
  expect(states.at(-1)).toBe('graded')
  expect(states.length).toBeGreaterThan(1)
  expect(states.map((state) => order.indexOf(state))).toEqual(
    states.map((state) => order.indexOf(state)).toSorted(),
  )
  expect(said.at(-1)).toMatch(/^Graded: \d+ of 20 points$/)
  expect(said[0]).toContain('Queued')
  // Nothing was asked for while the stream was there.
  expect(asked).toEqual([])
})

test('an attempt in the queue shows its place, answers a second Run, and can be cancelled', async ({
  page,
}) => {
  const lab = new LabPage(page)
  await lab.open()
  // Others are before it, and the first of them takes its whole time.
  const before: string[] = []
  for (let n = 0; n < 3; n++) {
    // One after the other: the first makes the visitor known, and the others are then theirs too.
    const response = await page.request.post('/api/v1/attempts', {
      data: { lab: LAB, files: { 'read.js': 'for (;;) {}' }, answers: {} },
    })
    expect(response.status()).toBe(201)
    before.push(((await response.json()) as { id: string }).id)
  }

  await lab.run.click()
  await expect(lab.report.getByText(/ahead of yours|Next in the queue/)).toBeVisible()
  await screenshot(page, 'desktop-en-queued')
  await lab.run.click()
  await expect(page.locator('.run-area').getByText('An attempt is still on its way')).toBeVisible()
  await page.locator('.run-bar').getByRole('button', { name: 'Cancel' }).click()
  await lab.ended('cancelled')
  await expect(lab.report).toContainText('cancelled before it was graded')
  await expect(page.locator('.run-bar').getByRole('button', { name: 'Cancel' })).toHaveCount(0)

  for (const id of before) {
    const response = await page.request.delete(`/api/v1/attempts/${id}`)
    expect([200, 409], 'cancelled, or over by now').toContain(response.status())
  }
})

test('what the script writes is shown while it runs', async ({ page }) => {
  const lab = new LabPage(page)
  await lab.open()
  await lab.write(
    "console.log('tick one'); console.error('tick two'); setTimeout(() => console.log('tick three'), 6000)",
  )
  await lab.run.click()
  const live = page.getByRole('region', { name: 'Output so far' })
  await expect(live).toContainText('tick one')
  await expect(live.locator('[data-stream="stderr"]')).toHaveText('tick two\n')
  await expect(live).not.toContainText('tick three')
  await expectAccessible(page)
  await screenshot(page, 'desktop-en-live-output')
  await lab.ended('graded')
  await expect(live).toHaveCount(0)
  await expect(page.locator('[data-run="default"] .panel pre').first()).toContainText('tick three')
})

test('without the event stream the page asks instead', async ({ page }) => {
  await page.route('**/events?*', (route) => route.abort())
  const lab = new LabPage(page)
  await lab.open()
  await lab.attempt(() => lab.run.click())
  await expect(lab.check('sync-on-main')).toHaveAttribute('data-status', 'passed')
})
