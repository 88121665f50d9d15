import type { InjectionKey } from 'vue'

/** What leads to a line of a trace: the event, where it is known, or else the line of the run. */
export interface Place {
  run: string | null
  line: number | null
  event: number | null
}

/** Opens the trace at a place. Provided by whoever has a trace to open. */
export const SHOW_IN_TRACE: InjectionKey<(place: Place) => void> = Symbol('show in trace')
