import { plural, problem } from '../../core/kit/index.ts'
import { type Context, command, fields, flag, required, sections, text } from '../kit/index.ts'
import { chainOf } from './chain-of.ts'
import type { Read } from './export-lines.ts'

type Exported = Readonly<{ chain: string; file: string }> & Omit<Read, 'of'>

export const exportChain = command(
  'export <chain>',
  'Write a chain of the log (admin, or the id of a rollout) into a file that can be proved without the daemon',
  {
    out: required(text('--out <file>', 'where to; only its owner can read it')),
    withoutEvidence: flag('--without-evidence', 'entries and checkpoints only, not the records of attempts that they name'),
  },
  async (context, { chain: name, withoutEvidence, out }): Promise<Exported> => {
    const chain = chainOf(name)
    const read = await written(context, { chain, evidence: !withoutEvidence }, out)
    if (read.entries < read.of)
      throw problem(
        'AUDIT_BROKEN',
        `the log of ${chain} ends at entry ${read.entries}, its head says ${read.of}: ${out} holds what there is`,
      )
    return { chain, file: out, entries: read.entries, checkpoints: read.checkpoints, evidence: read.evidence }
  },
  ({ chain, file, entries, checkpoints, evidence }, style) =>
    sections(
      fields(style, [
        ['chain', chain],
        ['file', file],
        ['entries', entries],
        ['checkpoints', checkpoints],
        ['evidence', evidence > 0 ? plural(evidence, 'attempt') : null],
      ]),
      `Prove it anywhere: tenantry audit verify --export ${file} --checkpoint <file that was kept elsewhere>`,
    ),
  { examples: ['export ro_8x2m4k7p9q3r5t6v1w0y --out rollout.ndjson', 'export admin --out admin.ndjson'] },
)

async function written(context: Context, wanted: { chain: string; evidence: boolean }, out: string): Promise<Read> {
  const [{ writeFileAtomic }, { exportLines }] = await Promise.all([import('../../node/index.ts'), import('./export-lines.ts')])
  const progress = await context.progress(`reading ${wanted.chain}`)
  let last: Read = { entries: 0, of: 0, checkpoints: 0, evidence: 0 }
  const told = (read: Read) => {
    last = read
    progress.update(
      `${read.entries} of ${plural(read.of, 'entry', 'entries')}${read.evidence > 0 ? `, evidence of ${plural(read.evidence, 'attempt')}` : ''}`,
    )
  }
  try {
    await writeFileAtomic(out, exportLines(context, { ...wanted, told }), { mode: 0o600 })
  } catch (error) {
    progress.fail(`${out} was not written`)
    const code = (error as NodeJS.ErrnoException).code
    throw code?.startsWith('E') ? problem('USAGE', `${out} cannot be written (${code}): give a path in a folder of yours`) : error
  }
  progress.stop()
  return last
}
