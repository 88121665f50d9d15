import { expect, type Locator, type Page } from '@playwright/test'
import { readFile } from 'node:fs/promises'
import {
  expectAccessible,
  expectNoSidewaysScroll,
  LAB,
  LabPage,
  REFERENCE,
  screenshot,
  test,
} from './support.ts'

class Explorer {
  readonly page: Page
  readonly root: Locator
  readonly editor: Locator
  readonly run: Locator
  readonly answer: Locator

  constructor(page: Page) {
    this.page = page
    this.root = page.locator('.explorer')
    this.editor = this.root.locator('.cm-content')
    this.run = this.root.locator('.run-row button').first()
    this.answer = this.root.locator('table')
  }

  async open(): Promise<void> {
    await this.page.getByRole('tab', { name: /^(?:Explorer|クエリ)$/ }).click()
    await expect(this.editor).toBeVisible()
  }

  async write(sql: string): Promise<void> {
    await this.editor.click()
    await this.page.evaluate((clip) => navigator.clipboard.writeText(clip), sql)
    await this.page.keyboard.press('ControlOrMeta+A')
    await this.page.keyboard.press('ControlOrMeta+V')
  }

  async ask(sql: string): Promise<void> {
    await this.write(sql)
    const answered = this.page.waitForResponse((response) => response.url().endsWith('/query'))
    await this.page.keyboard.press('ControlOrMeta+Enter')
    await answered
    await expect(this.run).toHaveAttribute('aria-disabled', 'false')
  }

  cells(): Promise<string[]> {
    return this.answer.locator('tbody .row td:not(.n, .rest)').allInnerTexts()
  }

  failure = () => this.root.locator('[data-code]')
}

async function graded(page: Page): Promise<{ id: string; explorer: Explorer }> {
  const lab = new LabPage(page)
  await lab.open()
  await lab.write(REFERENCE)
  return { id: await lab.attempt(() => lab.run.click()), explorer: new Explorer(page) }
}

test.describe('the explorer', () => {
  test.use({ locale: 'en-GB', colorScheme: 'light' })

  test('answers a query, and its ids lead to the trace', async ({ page }) => {
    const { explorer } = await graded(page)
    await explorer.open()
    await explorer.ask(
      "select id, line, role, path from events where run = 'default' and path = '/etc/os-release' order by id limit 1",
    )
    const [id, line, role, path] = await explorer.cells()
    expect([role, path]).toEqual(['libuv-worker', '/etc/os-release'])
    await expect(explorer.root.locator('.count')).toContainText('1 row')
    await screenshot(page, 'desktop-en-explorer')

    await explorer.root.getByRole('button', { name: `Show event ${id} in the trace` }).click()
    const current = page.getByRole('grid').locator('.line.current')
    await expect(current.getByRole('rowheader')).toHaveText(line ?? '')
    await expect(current).toContainText('"/etc/os-release"')
    await page.goBack()
    await expect(explorer.answer).toBeVisible()
  })

  test('an id of a repeated or later run leads to that run', async ({ page }) => {
    const { explorer } = await graded(page)
    await explorer.open()
    await explorer.ask("select id from events where run = 'pool8' order by id desc limit 1")
    await explorer.root.locator('.event').click()
    await expect(page.getByRole('combobox', { name: 'Run' }).locator('option:checked')).toHaveText('pool8')
    await expect(page).toHaveURL(/#trace\/pool8\/\d+$/)
  })

  test('tells values apart, and shows times readably', async ({ page }) => {
    const { explorer } = await graded(page)
    await explorer.open()
    await explorer.ask(
      "select null as gone, '' as empty, 'NULL' as word, 1500000 as t_ns, 9007199254740993 as big, 2.5 as half",
    )
    expect(await explorer.cells()).toEqual(['NULL', '', 'NULL', '1.500 ms', '9007199254740993', '2.5'])
    await expect(explorer.answer.locator('.null')).toHaveCount(1)
    await explorer.root.getByRole('checkbox', { name: 'Times in readable units' }).uncheck()
    expect((await explorer.cells())[3]).toBe('1500000')
    const align = (n: number) =>
      explorer.answer
        .locator('tbody .row td')
        .nth(n)
        .evaluate((cell) => getComputedStyle(cell).textAlign)
    expect([await align(3), await align(4)]).toEqual(['start', 'end'])
  })

  test('ten thousand rows are a table of a few, and more are cut off', async ({ page }) => {
    const { explorer } = await graded(page)
    await explorer.open()
    await explorer.ask(
      'with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000) select i from n',
    )
    await expect(explorer.root.locator('.count')).toContainText('10,000 rows')
    await expect(explorer.root.locator('.count')).toContainText('There were more rows')
    expect(await explorer.answer.locator('tbody .row').count()).toBeLessThan(100)
    await explorer.root.locator('.answer .scroller').evaluate((element) => element.scrollTo(0, 1e9))
    await expect(explorer.answer.locator('tbody .row').last()).toContainText('10000')
    await expect(explorer.answer.getByRole('columnheader', { name: 'i' })).toBeInViewport()
  })

  test('says what is wrong, where it is, and what to do', async ({ page }) => {
    const { explorer } = await graded(page)
    await explorer.open()

    await test.step('a mistake in the query is marked', async () => {
      await explorer.ask('select tid\nfrom evnts')
      await expect(explorer.failure()).toHaveAttribute('data-code', 'query_invalid')
      await expect(explorer.failure()).toContainText('evnts')
      await explorer.ask('select nme\nfrom events')
      await expect(explorer.failure()).toContainText('Line 1, column 8')
      await expect(explorer.root.locator('.cm-fault')).toHaveText('nme')
      await page.keyboard.press('End')
      await page.keyboard.type(' ')
      await expect(explorer.root.locator('.cm-fault')).toHaveCount(0)
    })

    await test.step('writing is refused', async () => {
      await explorer.ask('delete from events')
      await expect(explorer.failure()).toHaveAttribute('data-code', 'query_refused')
      await expect(explorer.failure()).toContainText('begins with select or with')
    })

    await test.step('a query without an end meets its bound', async () => {
      await explorer.ask(
        'with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n',
      )
      await expect(explorer.failure()).toHaveAttribute('data-code', 'query_limit')
      await expect(explorer.failure()).toContainText('took too long')
    })

    await test.step('and the next one is answered again', async () => {
      await explorer.ask('select 41 + 1')
      expect(await explorer.cells()).toEqual(['42'])
    })
  })

  test('a query under way can be cancelled', async ({ page }) => {
    const { explorer } = await graded(page)
    await explorer.open()
    await explorer.write(
      'with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n',
    )
    await explorer.run.click()
    await explorer.root.getByRole('button', { name: 'Cancel' }).click()
    await expect(explorer.run).toHaveText('Run the query')
    await expect(page.getByRole('status').last()).toHaveText('The query was cancelled.')
    await expect(explorer.failure()).toHaveCount(0)
  })

  test('helps with the schema, with examples and with what was asked before', async ({ page }) => {
    const { explorer } = await graded(page)
    await explorer.open()

    await test.step('every example is answered', async () => {
      const examples = explorer.root.locator('.queries > .list .query')
      expect(await examples.count()).toBeGreaterThanOrEqual(3)
      for (const example of await examples.all()) {
        await example.click()
        await expect(explorer.run).toHaveAttribute('aria-disabled', 'false')
        await expect(explorer.root.locator('.count')).toBeVisible()
        await expect(explorer.root.getByRole('alert')).toHaveCount(0)
      }
    })

    await test.step('the schema is searched, and a name goes into the query', async () => {
      await explorer.root.getByRole('searchbox').fill('timeout')
      const waits = explorer.root.locator('.schema .table').filter({ hasText: 'waits' })
      await expect(waits.getByRole('button', { name: 'timeout_ms' })).toBeVisible()
      await explorer.write('select')
      await waits.getByRole('button', { name: 'timeout_ms' }).click()
      await expect(explorer.editor).toContainText('select timeout_ms')
    })

    await test.step('names are completed, with what they mean', async () => {
      await explorer.write('select  from waits')
      for (let n = 0; n < 11; n++) await page.keyboard.press('ArrowLeft')
      await page.keyboard.type('timeo')
      const option = explorer.root.locator('.cm-tooltip-autocomplete [role="option"]').first()
      await expect(option).toContainText('timeout_ms')
      await expect(explorer.root.locator('.cm-completionInfo')).toContainText('limit')
      // For 75 ms the editor takes no key for the list, lest one be meant for the text.
      await page.waitForTimeout(150)
      await page.keyboard.press('Tab')
      await expect(explorer.editor).toContainText('timeout_ms from waits')
    })

    await test.step('own queries are kept, and the address names the last one', async () => {
      await explorer.ask("select '100% #1' as mine")
      await page.reload()
      await expect(explorer.editor).toContainText("select '100% #1' as mine")
      await expect(explorer.answer).toContainText('100% #1')
      await explorer.root.getByText(/^My queries/).click()
      await expect(explorer.root.locator('.query.code').first()).toHaveText("select '100% #1' as mine")
    })
  })

  test('an answer can be taken: CSV and Markdown', async ({ page }) => {
    const { explorer } = await graded(page)
    await explorer.open()
    await explorer.ask(`select 1 as id, 'a,"b"' as text, null as gone union all select 2, '=1+1', ''`)
    const clip = () => page.evaluate(() => navigator.clipboard.readText())
    await explorer.root.getByRole('button', { name: 'Copy CSV' }).click()
    await expect.poll(clip).toBe('id,text,gone\r\n1,"a,""b""",\r\n2,=1+1,""\r\n')
    await explorer.root.getByRole('button', { name: 'Copy Markdown' }).click()
    await expect.poll(clip).toContain('| 1 | a,"b" | NULL |\n')
    await explorer.root.getByRole('checkbox', { name: 'For spreadsheets' }).check()
    const download = page.waitForEvent('download')
    await explorer.root.getByRole('button', { name: 'Download CSV' }).click()
    const file = await readFile(await (await download).path(), 'utf8')
    expect(file).toContain("2,'=1+1,")
  })

  test('waits for an attempt to end', async ({ page }) => {
    await page.goto(`/labs/${LAB}#explorer`)
    await expect(page.getByText('as soon as an attempt has ended')).toBeVisible()
  })
})

for (const [locale, colorScheme] of [
  ['ja-JP', 'dark'],
  ['en-GB', 'light'],
] as const) {
  test.describe(`the explorer, ${locale}, ${colorScheme}`, () => {
    test.use({ locale, colorScheme })
    test('axe finds nothing', async ({ page }) => {
      const { explorer } = await graded(page)
      await explorer.open()
      await explorer.ask('select id, role, args, null as gone, dur_ns from events limit 50')
      await explorer.root.locator('.schema summary').first().click()
      await explorer.root.locator('.long').first().click()
      await expectAccessible(page)
      await screenshot(page, `desktop-${locale.slice(0, 2)}-${colorScheme}-explorer-rows`)
      await explorer.ask('select nme from events')
      await expect(explorer.failure()).toBeVisible()
      await expectAccessible(page)
    })
  })
}

test.describe('the explorer on a phone', () => {
  test.use({
    locale: 'ja-JP',
    colorScheme: 'dark',
    viewport: { width: 360, height: 740 },
    hasTouch: true,
    isMobile: true,
  })
  test('fits, and axe finds nothing', async ({ page }) => {
    const { explorer } = await graded(page)
    await explorer.open()
    await explorer.run.tap()
    await expect(explorer.answer).toBeVisible()
    await expectNoSidewaysScroll(page)
    await expectAccessible(page)
    await screenshot(page, 'phone-ja-dark-explorer')
  })
})
