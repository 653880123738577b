import type { FileHandle } from 'node:fs/promises'
import { plural, problem } from '../../core/kit/index.ts'
import { type Context, clean, command, required, text } from '../kit/index.ts'

type Exported = Readonly<{ tenant: string; file: string; rows: number; tables: Readonly<Record<string, number>> }>

export const exportRows = command('export <slug>', 'Export the rows of a tenant to a file', {
  options: { to: required(text('--to <file>', 'new file, one JSON object per line')) },
  run: async (context, { slug, to }) => {
    const { open, rm } = await import('node:fs/promises')
    const handle = await open(to, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
      throw problem('USAGE', `cannot create ${to} (${error.code}); pass a file that does not exist in a folder that does`)
    })
    try {
      return { tenant: slug, file: to, ...(await writeRows(context, handle, slug)) }
    } catch (error) {
      await rm(to, { force: true })
      throw error
    } finally {
      await handle.close()
    }
  },
  view: ({ tenant, file, rows, tables }: Exported) =>
    `${plural(rows, 'row')} of ${plural(Object.keys(tables).length, 'table')} of ${clean(tenant)} written to ${clean(file)}.`,
  examples: ['export anna-schule --to anna-schule.ndjson'],
})

/** The last line has the number of rows: a file without it is not whole. */
async function writeRows({ api, clock }: Pick<Context, 'api' | 'clock'>, handle: FileHandle, slug: string) {
  const tables: Record<string, number> = {}
  let [rows, cursor] = [0, undefined as string | null | undefined]
  const write = (line: object) => handle.write(`${JSON.stringify(line)}\n`)
  await write({ format: 'tenantry.tenant-export/v1', tenant: slug, at: clock.now().toISOString() })
  do {
    const body = cursor ? { cursor } : {}
    const page = await api.privacy.exportTenant({ params: { slug }, body })
    for (const { table, row } of page.rows) {
      await write({ table, row })
      tables[table] = (tables[table] ?? 0) + 1
      rows += 1
    }
    cursor = page.nextCursor
  } while (cursor)
  await write({ end: true, rows })
  return { rows, tables }
}
