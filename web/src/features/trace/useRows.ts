import { shallowRef, triggerRef, type Ref } from 'vue'
import type { Questions } from './protocol.ts'
import type { ShownLine } from './trace-book.ts'

const BLOCK = 200
const KEPT_BLOCKS = 12

/** The lines around the window, fetched from the worker in blocks; a few blocks are kept. */
export function useRows(
  version: Ref<number>,
  ask: (from: number, to: number) => Promise<Questions['rows']['answer']> | undefined,
) {
  const blocks = shallowRef(new Map<number, readonly ShownLine[]>())
  const underWay = new Map<string, Promise<void>>()

  function clear(): void {
    blocks.value = new Map()
    underWay.clear()
  }

  /** Undefined while it is not there; `load` fetches it. */
  function line(row: number): ShownLine | undefined {
    return blocks.value.get(Math.floor(row / BLOCK))?.[row % BLOCK]
  }

  /** Fetches what is missing of these rows; null when nothing is. */
  function load(from: number, to: number): Promise<unknown> | null {
    const missing: Promise<void>[] = []
    for (let block = Math.floor(from / BLOCK); block * BLOCK < to; block++) {
      if (blocks.value.has(block)) continue
      const key = `${version.value}/${block}`
      const fetching = underWay.get(key) ?? fetchBlock(block, key)
      underWay.set(key, fetching)
      missing.push(fetching)
    }
    return missing.length ? Promise.all(missing) : null
  }

  async function fetchBlock(block: number, key: string): Promise<void> {
    const rows = await ask(block * BLOCK, (block + 1) * BLOCK)
    underWay.delete(key)
    if (!rows || rows.version !== version.value) return
    const kept = blocks.value
    kept.set(block, rows.lines)
    const oldest = kept.keys().next().value
    if (kept.size > KEPT_BLOCKS && oldest !== undefined) kept.delete(oldest)
    triggerRef(blocks)
  }

  return { line, load, clear }
}
