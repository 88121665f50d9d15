import { expect } from '@playwright/test'
import { LabPage, screenshot, test } from './support.ts'

const FLOOD = "const fs = require('node:fs'); for (let n = 1; ; n++) fs.writeSync(1, `line ${n}\\n`)"

test.use({ locale: 'en-GB', colorScheme: 'light' })

test('a flood of output is shown from both ends, with what was left out between them', async ({ page }) => {
  const lab = new LabPage(page)
  await lab.open()
  await lab.write(FLOOD)
  await lab.attempt(() => lab.run.click())
  const run = page.locator('[data-run="default"]')
  await expect(run.locator('.outcome')).toContainText('Too much output')
  await expect(run.locator('.limit')).toHaveText(/^stdout: of more than 262.1 kB, the beginning and the end/)
  await run.getByRole('tab', { name: 'stdout' }).click()
  const [head, tail] = await run.locator('.panel pre').allInnerTexts()
  expect(head).toMatch(/^line 1\nline 2\n/)
  const last = Number(/line (\d+)\n*$/.exec(tail ?? '')?.[1])
  expect(last).toBeGreaterThan(20_000)
  const told = await run.locator('.left-out').innerText()
  const leftOut = Number(/^… ([\d,]+) bytes left out here …$/.exec(told)?.[1]?.replaceAll(',', ''))
  // Every byte is either shown or counted.
  const written = Array.from({ length: last }, (_, n) => `line ${n + 1}\n`.length)
  const shown = (head?.length ?? 0) + (tail?.length ?? 0)
  const sum = written.reduce((all, length) => all + length, 0)
  expect(Math.abs(shown + leftOut - sum)).toBeLessThan(20)
  await screenshot(page, 'desktop-en-flood')
})
