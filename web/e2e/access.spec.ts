import { expect, type Page } from '@playwright/test'
import { expectAccessible, expectNoSidewaysScroll, LabPage, screenshot, tabTo, test } from './support.ts'

/** Every page and state, once there is one attempt to show. */
async function eachPage(page: Page, visit: (name: string) => Promise<void>): Promise<void> {
  const lab = new LabPage(page)
  await page.goto('/')
  await expect(page.locator('.lab').first()).toBeVisible()
  await visit('labs')
  await lab.open()
  await visit('lab')
  const id = await lab.attempt(() => lab.run.click())
  await visit('graded')
  await page.goto(`/attempts/${id}`)
  await expect(lab.points).toBeVisible()
  await expect(lab.code).toBeVisible()
  await visit('attempt')
  await page.goto('/attempts')
  await expect(page.locator('.row').first()).toBeVisible()
  await visit('attempts')
  await page.goto('/nothing/here')
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
  await visit('404')
}

for (const colorScheme of ['light', 'dark'] as const) {
  for (const locale of ['ja-JP', 'en-GB']) {
    test.describe(`${locale}, ${colorScheme}`, () => {
      test.use({ locale, colorScheme })
      test('axe finds nothing on any page', async ({ page }) => {
        await eachPage(page, () => expectAccessible(page))
      })
    })
  }
}

test.describe('a phone of 360 px', () => {
  test.use({
    locale: 'ja-JP',
    colorScheme: 'dark',
    viewport: { width: 360, height: 740 },
    hasTouch: true,
    isMobile: true,
  })

  test('never scrolls sideways, and axe finds nothing', async ({ page }) => {
    await eachPage(page, async (name) => {
      await expectNoSidewaysScroll(page)
      await expectAccessible(page)
      await screenshot(page, `phone-ja-dark-${name}`)
    })
  })

  test('brings the report into view: after a run, and of an earlier attempt', async ({ page }) => {
    const lab = new LabPage(page)
    await lab.open()
    await lab.attempt(() => lab.run.click())
    await expect(lab.points).toBeInViewport()
    await page.goto('/attempts')
    await page.locator('.row').first().click()
    await expect(lab.points).toBeInViewport()
  })
})

test.describe('with the keyboard alone', () => {
  test.use({ locale: 'en-GB', colorScheme: 'light' })

  test('a lab is found, predicted, written, run and read', async ({ page }) => {
    const lab = new LabPage(page)
    await page.goto('/')
    await expect(page.locator('.lab').first()).toBeVisible()
    await page.keyboard.press('Tab')
    await expect(page.getByRole('link', { name: 'Skip to the content' })).toBeFocused()
    await page.keyboard.press('Enter')
    await tabTo(page, page.locator('.lab a').first())
    await page.keyboard.press('Enter')
    await expect(lab.predictions).toBeVisible()
    await expect(lab.code).toBeVisible()

    await tabTo(page, lab.predictions.locator('input[value="main"]'))
    await page.keyboard.press('ArrowDown')
    await expect(lab.predictions.locator('input[value="pool"]')).toBeChecked()
    await tabTo(page, lab.predictions.locator('input[name="predict-threads"]'))
    await page.keyboard.type('11')

    const inEditor = () =>
      page.evaluate(
        () => document.activeElement?.shadowRoot?.activeElement?.className.includes('cm-content') ?? false,
      )
    for (let presses = 0; presses < 20 && !(await inEditor()); presses++) await page.keyboard.press('Tab')
    expect(await inEditor()).toBe(true)
    await page.keyboard.press('Control+End')
    await page.keyboard.type('// typed')
    await page.keyboard.press('Home')
    await page.keyboard.press('Tab')
    await expect(lab.code).toContainText('  // typed')
    expect(await inEditor()).toBe(true)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Tab')
    expect(await inEditor()).toBe(false)

    await tabTo(page, lab.run)
    await lab.attempt(() => page.keyboard.press('Enter'))
    await expect(lab.run).toBeFocused()

    const run = page.locator('[data-run="default"]')
    await tabTo(page, run.getByRole('tab', { name: 'stdout' }))
    await page.keyboard.press('ArrowRight')
    await expect(run.getByRole('tab', { name: 'stderr' })).toBeFocused()
    await expect(run.getByRole('tab', { name: 'stderr' })).toHaveAttribute('aria-selected', 'true')
    await page.keyboard.press('Tab')
    await expect(run.getByRole('link', { name: 'Download the raw trace' })).toBeFocused()
  })
})
