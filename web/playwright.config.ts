import { defineConfig } from '@playwright/test'

/** The journeys need a whole Todoku (engine and database too): start it, or say where it is. */
const baseURL = process.env['TODOKU_URL'] ?? 'http://127.0.0.1:8080'

export default defineConfig({
  testDir: 'e2e',
  outputDir: 'e2e/results/failures',
  // One machine runs the sandboxes too: journeys side by side would only wait for each other.
  workers: 1,
  timeout: 120_000,
  expect: { timeout: 15_000 },
  forbidOnly: true,
  reporter: [['list']],
  use: {
    baseURL,
    viewport: { width: 1440, height: 900 },
    permissions: ['clipboard-read', 'clipboard-write'],
    trace: 'retain-on-failure',
    launchOptions: {
      executablePath: process.env['TODOKU_CHROMIUM'] ?? '/usr/bin/chromium',
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        '--disable-quic',
      ],
    },
  },
})
