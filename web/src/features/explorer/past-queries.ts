/** The learner's own queries at one lab, newest first, kept in the browser. */
type Store = Pick<Storage, 'getItem' | 'setItem'>

const MOST = 20
// The number is the version of the shape.
const keyOf = (slug: string) => `todoku:queries:1:${slug}`

export function loadQueries(store: Store, slug: string): string[] {
  try {
    const value: unknown = JSON.parse(store.getItem(keyOf(slug)) ?? '[]')
    return Array.isArray(value) ? value.filter((one) => typeof one === 'string').slice(0, MOST) : []
  } catch {
    return []
  }
}

/** The list with `sql` at its head, once. */
export function remember(queries: readonly string[], sql: string): string[] {
  const text = sql.trim()
  return text ? [text, ...queries.filter((one) => one !== text)].slice(0, MOST) : [...queries]
}

export function saveQueries(store: Store, slug: string, queries: readonly string[]): void {
  try {
    store.setItem(keyOf(slug), JSON.stringify(queries))
  } catch {
    // Storage is forbidden or full: the list lasts for this visit.
  }
}
