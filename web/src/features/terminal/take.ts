import type { Files } from '../../api/types.ts'

export interface Taken {
  /** The draft with the terminal's text of the files that it has. */
  files: Files
  /** Names of draft files whose text is another now. */
  changed: string[]
  /** Files of the terminal that the lab has no place for. */
  others: string[]
}

/** Lays a terminal's files over a draft. A file that was removed there stays as it is here. */
export function takeBack(draft: Files, terminal: Files): Taken {
  const names = Object.keys(draft)
  return {
    files: Object.fromEntries(names.map((name) => [name, terminal[name] ?? draft[name] ?? ''])),
    changed: names.filter((name) => terminal[name] !== undefined && terminal[name] !== draft[name]),
    others: Object.keys(terminal).filter((name) => !(name in draft)),
  }
}
