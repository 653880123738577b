import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { checkpointKeyId } from '../../core/audit/index.ts'
import { problem } from '../../core/kit/index.ts'
import { readIfThere, writeFileAtomic } from '../../node/index.ts'

export type CheckpointKey = Readonly<{ id: string; privateKey: KeyObject; publicKey: KeyObject }>

/** The Ed25519 key of checkpoints: a 0600 file outside the database, created once, with the public key beside it. */
export async function loadCheckpointKey(dataDir: string): Promise<CheckpointKey> {
  const file = join(dataDir, 'audit-checkpoint.key')
  const found = await readIfThere(file)
  if (found === undefined) return making.get(file) ?? makeOnce(file)
  if ((statSync(file).mode & 0o077) !== 0) throw problem('CONFIG', `${file} can be read by others: chmod 600 ${file}`)
  return asKey(createPrivateKey(found))
}

/** Two that want the first key at once get one: what is signed by a key that another overwrote could never be proved. */
const making = new Map<string, Promise<CheckpointKey>>()
function makeOnce(file: string): Promise<CheckpointKey> {
  const made = makeKey(file).finally(() => making.delete(file))
  making.set(file, made)
  return made
}

async function makeKey(file: string): Promise<CheckpointKey> {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  await writeFileAtomic(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
  await writeFileAtomic(`${file}.pub`, publicKey.export({ type: 'spki', format: 'pem' }), { mode: 0o644 })
  return asKey(privateKey)
}

function asKey(privateKey: KeyObject): CheckpointKey {
  const publicKey = createPublicKey(privateKey)
  return { id: checkpointKeyId(publicKey.export({ type: 'spki', format: 'der' })), privateKey, publicKey }
}

/** The public key in PEM. */
export const publicHalf = ({ id, publicKey }: CheckpointKey) => ({
  keyId: id,
  publicKey: String(publicKey.export({ type: 'spki', format: 'pem' })),
})
