import { problem } from '../../core/kit/index.ts'
import type { RowCounts } from '../ports/index.ts'

/** Left out: what a restore clears, and what only probes write. */
export const countSql = `select table_name || ' ' || (xpath('/row/c/text()',
  query_to_xml(format('select count(*) as c from %I.%I', table_schema, table_name), false, true, '')))[1]::text
from information_schema.tables
where table_schema = 'public' and table_type = 'BASE TABLE' and table_name not in ('e2e_one_time_keys_json', 'tenantry_probe')
order by table_name;
`

export const parseCounts = (printed: string): RowCounts =>
  Object.fromEntries(
    printed
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => {
        const at = line.lastIndexOf(' ')
        return [line.slice(0, at), Number(line.slice(at + 1))]
      }),
  )

/** Throws RESTORE_FAILED with the tables that differ. A table of which nothing was expected does not matter. */
export function needSameCounts(slug: string, expected: RowCounts, loaded: RowCounts): void {
  const wrong = Object.entries(expected).filter(([table, count]) => loaded[table] !== count)
  if (wrong.length === 0) return
  const list = wrong.slice(0, 5).map(([table, count]) => `${table} has ${loaded[table] ?? 'no'} rows instead of ${count}`)
  throw problem('RESTORE_FAILED', `the loaded database of ${slug} is not the dumped one: ${list.join('; ')}`)
}
