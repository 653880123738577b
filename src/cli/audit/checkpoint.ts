import type { Checkpoint } from '../../core/audit/index.ts'
import { plural, problem } from '../../core/kit/index.ts'
import { assertFolderOf, type Column, command, sections, table, text } from '../kit/index.ts'
import { chainOf } from './chain-of.ts'

const columns: readonly Column<Checkpoint>[] = [
  { title: 'CHAIN', value: ({ chain }) => chain, priority: 1, minWidth: 10 },
  { title: 'ENTRIES', value: ({ count }) => count, priority: 1, align: 'right' },
  { title: 'SIGNED AT (UTC)', value: ({ at }) => at.slice(0, 19).replace('T', ' '), priority: 1 },
  { title: 'KEY', value: ({ keyId }) => keyId, priority: 2 },
  { title: 'HEAD', value: ({ hash }) => hash.slice(0, 16), priority: 4 },
]

export const checkpoint = command('checkpoint', 'Sign the current heads of the audit log', {
  options: {
    chain: text('--chain <name>', 'only this chain: admin or a rollout id'),
    out: text('--out <file>', 'append the checkpoints to this file; store it on another machine'),
  },
  run: async ({ api }, { chain, out }) => {
    const signed = await api.audit.signCheckpoint({ body: chain === undefined ? {} : { chain: chainOf(chain) } })
    if (out !== undefined) await addTo(out, signed.checkpoints)
    return signed
  },
  view: ({ checkpoints, keyId }, style, { out }) =>
    sections(
      checkpoints.length > 0 ? table(style, columns, checkpoints) : '',
      out === undefined
        ? `Signed with key ${keyId}. Save them on another machine: tenantry audit checkpoint --out <file>`
        : `${plural(checkpoints.length, 'checkpoint')} appended to ${out}. Store the file on another machine: it proves the log up to these entries.`,
    ),
  examples: ['checkpoint --out checkpoints.jsonl', 'checkpoint --chain ro_8x2m4k7p9q3r5t6v1w0y --out rollout.jsonl'],
})

async function addTo(out: string, checkpoints: readonly Checkpoint[]): Promise<void> {
  const { appendFile } = await import('node:fs/promises')
  const lines = checkpoints.map((one) => `${JSON.stringify(one)}\n`).join('')
  await appendFile(out, lines, { mode: 0o600, flush: true }).catch(({ code }: NodeJS.ErrnoException) => {
    throw problem('USAGE', `${out} cannot be written (${code}). fix: choose a writable path`)
  })
}

export const publicKey = command('public-key', 'Print the public key that signs checkpoints', {
  options: { out: text('--out <file>', 'write the key to this file; store it on another machine') },
  run: async ({ api }, { out }) => {
    if (out !== undefined) await assertFolderOf(out)
    const key = await api.audit.auditPublicKey()
    if (out !== undefined) await (await import('../../node/index.ts')).writeFileAtomic(out, key.publicKey, { mode: 0o644 })
    return key
  },
  view: ({ keyId, publicKey }, _, { out }) => (out === undefined ? publicKey.trim() : `Key ${keyId} written to ${out}.`),
})
