import type { Lang } from '../i18n/index.ts'

/** When an attempt was made, in the reader's time zone: date and minute. */
export function formatTime(iso: string, lang: Lang): string {
  return new Intl.DateTimeFormat(lang, { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(iso))
}

export function formatCount(n: number, lang: Lang): string {
  return new Intl.NumberFormat(lang).format(n)
}

const BYTE_UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const

/** Bytes in steps of 1,000, at most one decimal: `133 kB`, `1.5 MB`. */
export function formatBytes(bytes: number, lang: Lang): string {
  const step = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), BYTE_UNITS.length - 1)
  return new Intl.NumberFormat(lang, {
    style: 'unit',
    unit: BYTE_UNITS[step] ?? 'byte',
    maximumFractionDigits: step === 0 ? 0 : 1,
  }).format(bytes / 1000 ** step)
}
