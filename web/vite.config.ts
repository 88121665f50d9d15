import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vitest/config'
import { bootScript } from './build/boot-script.ts'
import { precompress } from './build/precompress.ts'

const server = process.env['TODOKU_URL'] ?? 'http://127.0.0.1:8080'

export default defineConfig({
  plugins: [vue(), bootScript(), precompress()],
  server: {
    host: '127.0.0.1',
    port: 5173,
    strictPort: true,
    proxy: { '/api': { target: server, ws: true, headers: { origin: server } } },
  },
  test: { include: ['src/**/*.test.ts'] },
  build: {
    target: 'baseline-widely-available',
    // Inlined data: URLs would need a looser Content-Security-Policy and are never cached by themselves.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
})
