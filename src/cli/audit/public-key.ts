import { command, text } from '../kit/index.ts'

export const publicKey = command(
  'public-key',
  'The key that checkpoints are signed with; keep it where neither database nor daemon is',
  { out: text('--out <file>', 'write it into this file') },
  async ({ api }, { out }) => {
    const key = await api.audit.auditPublicKey()
    if (out !== undefined) await (await import('../../node/index.ts')).writeFileAtomic(out, key.publicKey, { mode: 0o644 })
    return key
  },
  ({ keyId, publicKey }, _, { out }) => (out === undefined ? publicKey.trim() : `The key ${keyId} is in ${out}.`),
)
