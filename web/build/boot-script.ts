import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vite'

const SOURCE = fileURLToPath(new URL('../src/boot.js', import.meta.url))

/**
 * Puts `src/boot.js` into the page as a classic, blocking, hashed script. It sets theme and language before the
 * first paint; the page's Content-Security-Policy allows no inline script that could do so.
 */
export function bootScript(): Plugin {
  let reference: string | undefined
  return {
    name: 'todoku:boot-script',
    async buildStart() {
      if (this.environment.mode !== 'build') return
      const source = await readFile(SOURCE, 'utf8')
      reference = this.emitFile({ type: 'asset', name: 'boot.js', source })
    },
    transformIndexHtml: {
      order: 'post',
      handler(_html, context) {
        const emitted = Object.values(context.bundle ?? {}).find((file) => file.name === 'boot.js')
        if (context.bundle && (!reference || !emitted)) throw new Error('boot.js is missing from the bundle')
        const src = emitted ? `/${emitted.fileName}` : '/src/boot.js'
        return [{ tag: 'script', attrs: { src }, injectTo: 'head-prepend' as const }]
      },
    },
  }
}
