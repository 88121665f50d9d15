import { expect, type Locator, type Page } from '@playwright/test'
import { expectAccessible, expectNoSidewaysScroll, LabPage, screenshot, tabTo, test } from './support.ts'

/** A sandbox starts within it, on a machine that does other things as well. */
const OPENS_WITHIN_MS = 60_000

/** A learner's terminal, as it is read from the screen. */
class TerminalPage {
  readonly page: Page
  readonly lab: LabPage
  readonly panel: Locator
  readonly button: Locator
  readonly input: Locator

  constructor(page: Page) {
    this.page = page
    this.lab = new LabPage(page)
    this.panel = page.locator('section.terminal')
    this.button = page.locator('.pane-editor .bar-buttons button').first()
    this.input = this.panel.locator('.xterm-helper-textarea')
  }

  async open(): Promise<void> {
    await this.lab.open()
    await this.button.click()
    await this.ready()
  }

  async ready(): Promise<void> {
    await expect(this.panel).toHaveAttribute('data-link', 'open', { timeout: OPENS_WITHIN_MS })
    await this.shows('learner@lab:')
  }

  /** All rows joined: a row that is full goes on in the next. */
  async text(): Promise<string> {
    const rows = await this.panel.locator('.xterm-rows > div').allTextContents()
    return rows.map((row) => row.replaceAll('\u00a0', ' ').trimEnd()).join('')
  }

  async shows(text: string): Promise<void> {
    await expect.poll(() => this.text(), { timeout: OPENS_WITHIN_MS }).toContain(text)
  }

  async run(command: string): Promise<void> {
    await this.input.focus()
    await this.page.keyboard.type(command)
    await this.page.keyboard.press('Enter')
  }

  async end(): Promise<void> {
    await this.panel.getByRole('button', { name: /^(End|終了)$/ }).click()
    await expect(this.panel).toHaveCount(0)
  }
}

/** Nobody's terminal takes the place of the next journey's. */
test.afterEach(async ({ page }) => {
  const { terminal } = (await (await page.request.get('/api/v1/terminals/current')).json()) as {
    terminal: { id: string } | null
  }
  if (terminal) await page.request.delete(`/api/v1/terminals/${terminal.id}`)
})

test.describe('a learner at a desk', () => {
  test.use({ locale: 'en-GB', colorScheme: 'light' })

  test('traces by hand, edits a file, comes back after a reload, and takes the file back', async ({
    page,
  }) => {
    const terminal = new TerminalPage(page)
    await terminal.lab.open()
    await terminal.lab.write("require('node:fs').readFileSync('/etc/hostname')\n")
    await terminal.button.click()
    await terminal.ready()
    await expect(terminal.input).toBeFocused()

    await terminal.run("clear; strace -f -e openat node read.js 2>&1 | grep -o 'etc/hostname.*'")
    await terminal.shows('etc/hostname", O_RDONLY|O_CLOEXEC')
    await screenshot(page, 'desktop-en-terminal')

    // A paste of two languages, from the clipboard.
    await page.evaluate(() =>
      navigator.clipboard.writeText("echo '// 届いた' >> read.js; clear; echo sa''ved"),
    )
    await terminal.input.focus()
    await page.keyboard.press('ControlOrMeta+V')
    await page.keyboard.press('Enter')
    await terminal.shows('saved')

    await page.reload()
    await terminal.ready()
    await terminal.shows('saved')
    await terminal.run("clear; tail -n 1 read.js | tr -d ' '")
    await terminal.shows('//届いた')

    await terminal.panel.getByRole('button', { name: 'Take files into the editor' }).click()
    await expect(page.locator('.notices')).toContainText('Taken from the terminal: read.js.')
    await expect(terminal.lab.code).toContainText('// 届いた')
    await page.getByRole('button', { name: 'Undo' }).click()
    await expect(terminal.lab.code).not.toContainText('届いた')
    await terminal.end()
    await expect(terminal.button).toBeFocused()
  })

  test('what is selected is copied, and the shell’s end is told', async ({ page }) => {
    const terminal = new TerminalPage(page)
    await terminal.open()
    await terminal.run("clear; echo co''py-me")
    await terminal.shows('copy-me')
    await terminal.panel
      .locator('.xterm-rows > div')
      .filter({ hasText: /^copy-me/ })
      // What is clicked is the layer above the text.
      .dblclick({ position: { x: 20, y: 8 }, force: true })
    await terminal.input.focus()
    await page.keyboard.press('Control+C')
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe('copy-me')
    await terminal.run('exit')
    await expect(terminal.panel.locator('.state')).toHaveText('The shell has ended.')
    await terminal.panel.getByRole('button', { name: 'Open a new one' }).click()
    await terminal.ready()
  })

  test('a second tab takes it over, and the first can have it back', async ({ page, context }) => {
    const terminal = new TerminalPage(page)
    await terminal.open()
    const other = new TerminalPage(await context.newPage())
    await other.open()
    await expect(terminal.panel.locator('.state')).toHaveText('Another tab has this terminal now.')
    await terminal.panel.getByRole('button', { name: 'Bring it here' }).click()
    await terminal.ready()
    await expect(other.panel).toHaveAttribute('data-link', 'elsewhere')
  })

  test('a lost connection comes back by itself', async ({ page }) => {
    let lost = false
    await page.routeWebSocket(/\/socket$/, (socket) => {
      const server = socket.connectToServer()
      if (!lost) setTimeout(() => ((lost = true), void socket.close(), void server.close()), 3000)
    })
    const terminal = new TerminalPage(page)
    await terminal.open()
    await terminal.run("clear; echo be''fore")
    await expect(terminal.panel).toHaveAttribute('data-link', 'reconnecting', { timeout: 20_000 })
    await terminal.ready()
    await terminal.shows('before')
  })
})

test.describe('with the keyboard alone, in the dark', () => {
  test.use({ locale: 'ja-JP', colorScheme: 'dark' })

  test('it is entered, used, left by F6 and spoken of; axe finds nothing', async ({ page }) => {
    const terminal = new TerminalPage(page)
    await terminal.lab.open()
    await expect(terminal.button).toBeVisible()
    await terminal.button.focus()
    await page.keyboard.press('Enter')
    await terminal.ready()
    await expect(terminal.input).toBeFocused()
    await expect(terminal.input).toHaveAttribute('aria-label', 'ターミナル')
    await expect(terminal.input).toHaveAttribute('aria-description', /F6/)

    // Tab is the shell's: it completes the name.
    await page.keyboard.type('clear; ls -d rea')
    await page.keyboard.press('Tab')
    await terminal.shows('read.js')
    await expect(terminal.input).toBeFocused()
    await page.keyboard.press('Enter')

    await page.keyboard.press('F6')
    const take = terminal.panel.getByRole('button', { name: 'ファイルをエディターに取り込む' })
    await expect(take).toBeFocused()
    await expect(page.locator('[role="status"][aria-live]')).toHaveText('ターミナルの外へ移動しました。')
    await tabTo(page, terminal.panel.getByLabel('スクリーンリーダー向け表示'))
    await page.keyboard.press('Space')
    await expect(terminal.panel.locator('.xterm-accessibility-tree')).toContainText('read.js')
    await expectAccessible(page)
    await screenshot(page, 'desktop-ja-dark-terminal')
    await page.keyboard.press('Space')
    await expectAccessible(page)
    await tabTo(page, terminal.panel.getByRole('button', { name: '終了' }))
    await page.keyboard.press('Enter')
    await expect(terminal.panel).toHaveCount(0)
  })
})

test.describe('a phone of 360 px', () => {
  test.use({
    locale: 'ja-JP',
    colorScheme: 'light',
    viewport: { width: 360, height: 740 },
    hasTouch: true,
    isMobile: true,
  })

  test('has room for it, and the keys that its keyboard lacks', async ({ page }) => {
    const terminal = new TerminalPage(page)
    await terminal.open()
    await expect(terminal.panel.locator('.screen')).toBeInViewport()
    // One program says that it runs and then waits, so that the key below is its own and not the shell's.
    await terminal.run('clear; sh -c \'echo i""n; exec sleep 60\'')
    await terminal.shows('in')
    await terminal.panel.getByRole('button', { name: 'Ctrl+C' }).click()
    await terminal.run("clear; echo o''n")
    await terminal.shows('on')
    await expectNoSidewaysScroll(page)
    await expectAccessible(page)
    await screenshot(page, 'phone-ja-terminal')
  })
})
