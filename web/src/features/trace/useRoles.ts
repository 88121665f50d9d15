import { shallowRef, watch } from 'vue'
import { queryAttempt } from '../../api/evidence.ts'

export interface ThreadInfo {
  role: string
  comm: string | null
}

const SQL = 'select tid, role, comm from threads where run = :run and try = :try'

/** What the evidence knows of the threads of a run, by number. Without an answer the numbers have to do. */
export function useRoles(about: () => { attempt: string; run: string; tryNo: number } | null) {
  const roles = shallowRef<ReadonlyMap<number, ThreadInfo>>(new Map())
  let newest = 0
  watch(
    () => JSON.stringify(about()),
    async () => {
      const mine = ++newest
      roles.value = new Map()
      const now = about()
      if (!now) return
      const params = { run: now.run, try: now.tryNo }
      const answer = await queryAttempt(now.attempt, { sql: SQL, params }).catch(() => null)
      if (!answer || mine !== newest) return
      roles.value = new Map(
        answer.rows.map(([tid, role, comm]) => [
          Number(tid),
          { role: String(role), comm: comm == null ? null : String(comm) },
        ]),
      )
    },
    { immediate: true },
  )
  return roles
}
