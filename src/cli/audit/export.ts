import { plural, problem } from '../../core/kit/index.ts'
import { assertFolderOf, type Context, command, fields, flag, required, sections, text } from '../kit/index.ts'
import { chainOf } from './chain-of.ts'
import type { Read } from './export-lines.ts'

type Exported = Readonly<{ chain: string; file: string }> & Omit<Read, 'of'>

export const exportChain = command('export <chain>', 'Export a chain for verification without the daemon', {
  options: {
    out: required(text('--out <file>', 'output file (mode 0600)')),
    withoutEvidence: flag('--without-evidence', 'leave out the records of rollout attempts'),
  },
  run: async (context, { chain: name, withoutEvidence, out }): Promise<Exported> => {
    const chain = chainOf(name)
    const read = await writeExport(context, { chain, evidence: !withoutEvidence }, out)
    if (read.entries < read.of)
      throw problem(
        'AUDIT_BROKEN',
        `The log of ${chain} ends at entry ${read.entries}, but its head is ${read.of}. ${out} contains the entries up to ${read.entries}.`,
      )
    return { chain, file: out, entries: read.entries, checkpoints: read.checkpoints, evidence: read.evidence }
  },
  view: ({ chain, file, entries, checkpoints, evidence }, style) =>
    sections(
      fields(style, [
        ['chain', chain],
        ['file', file],
        ['entries', entries],
        ['checkpoints', checkpoints],
        ['evidence', evidence > 0 ? plural(evidence, 'attempt') : null],
      ]),
      `Verify it on any machine: tenantry audit verify --export ${file} --checkpoint <file stored elsewhere>`,
    ),
  examples: ['export ro_8x2m4k7p9q3r5t6v1w0y --out rollout.ndjson', 'export admin --out admin.ndjson'],
})

async function writeExport(context: Context, input: { chain: string; evidence: boolean }, out: string): Promise<Read> {
  const [{ writeFileAtomic }, { exportLines }] = await Promise.all([import('../../node/index.ts'), import('./export-lines.ts')])
  await assertFolderOf(out)
  const progress = await context.progress(`reading ${input.chain}`)
  let last: Read = { entries: 0, of: 0, checkpoints: 0, evidence: 0 }
  const onProgress = (read: Read) => {
    last = read
    progress.update(
      `${read.entries} of ${plural(read.of, 'entry', 'entries')}${read.evidence > 0 ? `, evidence of ${plural(read.evidence, 'attempt')}` : ''}`,
    )
  }
  try {
    await writeFileAtomic(out, exportLines(context, { ...input, onProgress }), { mode: 0o600 })
  } catch (error) {
    progress.fail(`${out} was not written`)
    const code = (error as NodeJS.ErrnoException).code
    throw code?.startsWith('E') ? problem('USAGE', `${out} cannot be written (${code}). fix: choose a writable path`) : error
  }
  progress.stop()
  return last
}
