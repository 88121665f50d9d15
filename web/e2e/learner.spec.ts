import { expect } from '@playwright/test'
import { readFile } from 'node:fs/promises'
import { LAB, LabPage, REFERENCE, screenshot, STARTER, test } from './support.ts'

/** What the questions after the run earn in this lab; the rest is earned by the script. */
const AFTER_POINTS = 5
const MAX_POINTS = 20

test.describe('a Japanese learner', () => {
  test.use({ locale: 'ja-JP', colorScheme: 'light' })

  test('goes from the list of labs to full points', async ({ page }) => {
    const lab = new LabPage(page)
    await page.goto('/')
    await expect(page.locator('html')).toHaveAttribute('lang', 'ja')
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('そのコードは、OS に届いたか。')
    await screenshot(page, 'desktop-ja-labs')
    await page.getByRole('link', { name: '同期の読み込みと非同期の読み込み' }).click()
    await expect(lab.code).toBeVisible()
    await expect(lab.code).toContainText('/etc/os-release')
    await expect(page.getByText('外へ出るには Esc')).toBeVisible()
    await screenshot(page, 'desktop-ja-lab')

    await test.step('predicts, and runs the starter by the button: some checks fail, with a hint', async () => {
      await lab.predictions.locator('input[value="kernel"]').check()
      await lab.predictions.locator('input[name="predict-threads"]').fill('１')
      await lab.predictions.locator('input[value="startup"]').check()
      await lab.attempt(() => lab.run.click())
      await expect(lab.check('sync-on-main')).toHaveAttribute('data-status', 'passed')
      const failed = lab.check('async-on-pool')
      await expect(failed).toHaveAttribute('data-status', 'failed')
      await expect(failed.locator('.hint')).toContainText('fs.readFile')
      // What happened instead: the main thread opened the file.
      await expect(failed.locator('.evidence')).toContainText('/etc/os-release')
      await screenshot(page, 'desktop-ja-failed')
    })

    await test.step('finds the predictions locked, as they were', async () => {
      await expect(lab.predictions).toHaveAttribute('data-locked', 'true')
      await expect(lab.predictions.locator('input[value="kernel"]')).toBeChecked()
      await expect(lab.predictions.locator('input[value="kernel"]')).toBeDisabled()
      await expect(lab.predictions.locator('input[name="predict-threads"]')).toHaveValue('1')
      await lab.predictions.getByRole('button', { name: '予想し直す' }).click()
      await lab.predictions.locator('input[value="pool"]').check()
    })

    const id = await test.step('writes the solution and runs it by Ctrl+Enter', async () => {
      await lab.write(REFERENCE)
      const made = await lab.attempt(() => page.keyboard.press('Control+Enter'))
      await expect(lab.points).toHaveText(String(MAX_POINTS - AFTER_POINTS))
      await expect(lab.report.getByRole('tabpanel').first()).toContainText('hostname:')
      await screenshot(page, 'desktop-ja-graded')
      return made
    })

    await test.step('downloads the raw trace, in which the evidence stands where it is said to', async () => {
      const row = lab.check('async-on-pool').locator('.row').first()
      const line = Number(await row.locator('.at [aria-hidden]').textContent())
      const call = (await row.locator('.call').textContent()) ?? ''
      expect(call).toContain('"/etc/os-release"')
      const download = page.waitForEvent('download')
      await page.locator('[data-run="default"]').getByRole('link', { name: '生のトレース' }).click()
      const trace = await readFile(await (await download).path(), 'utf8')
      expect(trace.split('\n')[line - 1]).toContain(call)
    })

    await test.step('answers from the own trace, once, and has every point', async () => {
      const tidOf = (check: string) => lab.check(check).locator('.thread').first().innerText()
      const [sync, async] = [await tidOf('sync-on-main'), await tidOf('async-on-pool')]
      expect(sync).not.toBe(async)
      const after = page.locator('.after')
      await after.locator('input[name="sync-tid"]').fill(sync)
      await after.locator('input[name="async-tid"]').fill(async)
      await after.locator('input[value="first-async"]').check()
      for (const flag of ['shares-memory', 'shares-fds', 'shares-cwd', 'same-process']) {
        await after.locator(`input[value="${flag}"]`).check()
      }
      await after.getByRole('button', { name: '答えを送信する' }).click()
      await expect(lab.points).toHaveText(String(MAX_POINTS))
      await expect(after.getByRole('button')).toHaveCount(0)
      await expect(after.locator('input[name="sync-tid"]')).toHaveValue(sync)
      await page.locator('.pane-report').evaluate((pane) => pane.scrollTo(0, 0))
      await screenshot(page, 'desktop-ja-full-points')
    })

    await test.step('finds all of it again after a reload', async () => {
      await page.reload()
      await expect(lab.points).toHaveText(String(MAX_POINTS))
      await expect(lab.code).toContainText('listThreads')
      await expect(page.getByText('しくみ').first()).toBeAttached()
      await lab.past.locator('summary').click()
      await expect(lab.past.locator('.row')).toHaveCount(2)
      await lab.past.locator('.row').last().click()
      await expect(page).toHaveURL(/\/attempts\//)
      await page.reload()
      await expect(lab.check('async-on-pool')).toHaveAttribute('data-status', 'failed')
      await expect(lab.code).toHaveAttribute('aria-readonly', 'true')
      await expect(lab.code).not.toContainText('listThreads')
      await screenshot(page, 'desktop-ja-earlier-attempt')
    })

    await test.step('takes the files of an earlier attempt, and takes that back', async () => {
      await page.getByRole('button', { name: 'このファイルを使う' }).click()
      await expect(page).toHaveURL(new RegExp(`/labs/${LAB}$`))
      await expect(lab.code).toContainText('ここを非同期にする')
      await page.getByRole('button', { name: '元に戻す' }).click()
      await expect(lab.code).toContainText('listThreads')
    })

    await test.step('sees both attempts in the history, and full points in the list', async () => {
      await page.getByRole('link', { name: '試行の履歴' }).click()
      await expect(page.locator('.row')).toHaveCount(2)
      await expect(page.locator(`[data-attempt="${id}"]`)).toContainText(`${MAX_POINTS}/${MAX_POINTS}`)
      await screenshot(page, 'desktop-ja-attempts')
      await page.getByRole('link', { name: 'ラボ', exact: true }).click()
      await expect(page.locator('.lab')).toContainText(`${MAX_POINTS} 点中 ${MAX_POINTS} 点`)
    })
  })
})

test.describe('an English learner', () => {
  test.use({ locale: 'en-GB', colorScheme: 'dark' })

  test('reads English, changes the language, and is remembered', async ({ page }) => {
    await page.goto('/')
    await expect(page.locator('html')).toHaveAttribute('lang', 'en')
    await expect(page.getByRole('heading', { level: 1 })).toContainText('reach the operating system')
    await screenshot(page, 'desktop-en-dark-labs')
    await page.getByRole('button', { name: '日本語' }).click()
    await expect(page.getByRole('heading', { level: 1 })).toContainText('届いたか')
    await expect(page.locator('.lab').first()).toContainText('同期の読み込み')
    await page.reload()
    await expect(page.locator('html')).toHaveAttribute('lang', 'ja')
  })

  test('chooses a theme, which is there before the first paint of the next visit', async ({ page }) => {
    const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
    await page.goto('/')
    const dark = await background()
    await page.getByRole('button', { name: 'Theme: System' }).click()
    await expect(page.getByRole('button', { name: 'Theme: Light' })).toBeVisible()
    const light = await background()
    expect(light).not.toBe(dark)
    // With the app held back, only the boot script can have set the theme.
    await page.route(/\/assets\/index-.*\.js$/, (route) => route.abort())
    await page.reload()
    expect(await background()).toBe(light)
  })

  test('writes a syntax error: graded with no points, and node’s own message is shown', async ({ page }) => {
    const lab = new LabPage(page)
    await lab.open()
    await lab.write("const fs = require('node:fs')\nfs.readFile(\n")
    await lab.attempt(() => lab.run.click())
    await expect(lab.points).toHaveText('0')
    const run = page.locator('[data-run="default"]')
    await expect(run.locator('.outcome')).toContainText('exit code 1')
    await expect(run.getByRole('tab', { name: 'stderr' })).toHaveAttribute('aria-selected', 'true')
    await expect(run.getByRole('tabpanel')).toContainText('SyntaxError')
    // What went wrong with the run is read before the checks that failed for it.
    const headings = await lab.report.getByRole('heading', { level: 3 }).allTextContents()
    expect(headings.indexOf('Runs')).toBeLessThan(headings.indexOf('Checks'))
    await screenshot(page, 'desktop-en-dark-syntax-error')
  })

  test('is told what was wrong with the input, where it is', async ({ page }) => {
    const lab = new LabPage(page)
    await lab.open()

    await test.step('a prediction that is no number', async () => {
      await lab.predictions.locator('input[name="predict-threads"]').fill('seven')
      await lab.run.click()
      await expect(lab.predictions.getByRole('alert')).toContainText('number')
      await expect(lab.predictions.locator('input[name="predict-threads"]')).toHaveAttribute(
        'aria-invalid',
        'true',
      )
      await lab.predictions.locator('input[name="predict-threads"]').fill('7')
    })

    await test.step('files that are too large', async () => {
      await lab.write('// a line of forty characters, and a bit\n'.repeat(27_000))
      await lab.run.click()
      await expect(page.locator('.pane-editor, .run-area').getByRole('alert')).toContainText('1048576')
    })

    await test.step('the starter comes back, and can be taken back', async () => {
      await page.getByRole('button', { name: 'Reset to starter' }).click()
      await expect(lab.code).toContainText("'use strict'")
      await page.getByRole('button', { name: 'Undo' }).click()
      await expect(lab.code).toContainText('forty characters')
      await page.getByRole('button', { name: 'Reset to starter' }).click()
    })

    await test.step('no network: the draft is safe, and a retry carries on', async () => {
      await page.context().setOffline(true)
      await lab.run.click()
      const alert = page.locator('.run-area').getByRole('alert')
      await expect(alert).toContainText('cannot be reached')
      await page.context().setOffline(false)
      await lab.attempt(() => alert.getByRole('button', { name: 'Try again' }).click())
      await expect(lab.check('sync-on-main')).toHaveAttribute('data-status', 'passed')
    })
  })

  test('meets pages that do not exist', async ({ page }) => {
    for (const [path, text] of [
      ['/labs/no-such-lab', 'There is no lab by this name.'],
      ['/attempts/019a0000-0000-7000-8000-000000000000', 'This attempt does not exist'],
      ['/nothing/here', 'Nothing at this depth'],
    ] as const) {
      await page.goto(path)
      await expect(page.getByRole('heading', { level: 1 })).toContainText(text)
    }
    await screenshot(page, 'desktop-en-dark-404')
    await page.getByRole('link', { name: 'Go to the labs' }).click()
    await expect(page).toHaveURL('/')
  })

  test('can work without the editor’s code', async ({ page }) => {
    await page.route(/\/assets\/CodeEditor-.*\.js$/, (route) => route.abort())
    const lab = new LabPage(page)
    await page.goto(`/labs/${LAB}`)
    const field = page.getByRole('textbox', { name: 'Source of read.js' })
    await expect(field).toHaveValue(STARTER)
    await field.fill(REFERENCE)
    await lab.attempt(() => page.keyboard.press('Control+Enter'))
    await expect(lab.points).toHaveText(String(MAX_POINTS - AFTER_POINTS))
  })

  test('keeps the draft over a reload', async ({ page }) => {
    const lab = new LabPage(page)
    await lab.open()
    await lab.write(`${STARTER}// mine\n`)
    await lab.predictions.locator('input[value="pool"]').check()
    await page.reload()
    await expect(lab.code).toContainText('// mine')
    await expect(lab.predictions.locator('input[value="pool"]')).toBeChecked()
  })
})
