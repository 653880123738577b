import { type ProblemCode, problem } from '../../core/kit/index.ts'
import type { RowCounts } from '../ports/index.ts'

/** Every chat server has tables with rows: a database without is another one than it uses, and a comparison with nothing proves nothing. */
export function assertCounted(rows: RowCounts, { code, what }: Readonly<{ code: ProblemCode; what: string }>): void {
  const tables = Object.keys(rows).length
  if (Object.values(rows).some((count) => count > 0)) return
  throw problem(
    code,
    `${what} has ${tables === 0 ? 'no tables' : 'tables without any row'}: it is not the one that the chat server uses. fix: compare the database in the settings of the chat server with the one of the box`,
  )
}
