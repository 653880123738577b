import type { ChainReport } from '../../core/audit/index.ts'
import { catalogue, plural } from '../../core/kit/index.ts'
import { type Column, command, sections, table, text } from '../kit/index.ts'

const columns: readonly Column<ChainReport>[] = [
  { title: 'CHAIN', value: ({ chain }) => chain, priority: 1, least: 10 },
  { title: 'STATE', value: ({ ok }) => (ok ? 'holds' : 'broken'), priority: 1, paint: ({ ok }) => (ok ? 'green' : 'red') },
  { title: 'ENTRIES', value: ({ entries }) => entries, priority: 2, align: 'right' },
  { title: 'BROKEN AT', value: ({ brokenAt }) => brokenAt, priority: 1, align: 'right' },
  { title: 'WHY', value: ({ reason }) => reason, priority: 2, least: 20 },
  { title: 'HEAD', value: ({ head }) => head.hash.slice(0, 16), priority: 4 },
]

export const verify = command(
  'verify',
  'Check that every chain of the audit log still holds together',
  { chain: text('--chain <name>', 'only this chain') },
  ({ api }, { chain }) => api.audit.verifyAudit({ query: chain ? { chain } : {} }),
  ({ chains }, look) => {
    const broken = chains.filter(({ ok }) => !ok)
    const verdict =
      broken.length === 0
        ? look.paint.green(`${plural(chains.length, 'chain holds', 'chains hold')} together.`)
        : look.paint.red(
            `${broken.length} of ${plural(chains.length, 'chain')} broken: keep the database as it is and compare with a backup.`,
          )
    return sections(chains.length > 0 ? table(look, columns, chains) : '', verdict)
  },
  { exit: ({ chains }) => (chains.every(({ ok }) => ok) ? 0 : catalogue.AUDIT_BROKEN.exit) },
)
