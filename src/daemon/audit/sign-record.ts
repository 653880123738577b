import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { join } from 'node:path'
import { checkpointKeyId } from '../../core/audit/index.ts'
import { canonicalJson } from '../../core/kit/index.ts'
import { readIfThere } from '../../node/index.ts'
import { loadCheckpointKey } from './checkpoint-key.ts'

export type RecordSignature = Readonly<{ keyId: string; signature: string }>

/** `kind` keeps a signature of one kind of record from passing for another. */
type SignedRecord = Readonly<{ kind: string }> & Readonly<Record<string, unknown>>

const bytesOf = (record: SignedRecord): Buffer => Buffer.from(canonicalJson(record))

/** Signs a record with the audit key, which is outside the database: a changed row fails its verification. */
export async function signRecord(dataDir: string, record: SignedRecord): Promise<RecordSignature> {
  const key = await loadCheckpointKey(dataDir)
  return { keyId: key.id, signature: sign(null, bytesOf(record), key.privateKey).toString('base64url') }
}

/** True if this replica signed the record, or one whose public key is in `audit-trusted.pub` of the data folder. */
export async function isSignedRecord(dataDir: string, record: SignedRecord, { keyId, signature }: RecordSignature): Promise<boolean> {
  const own = await loadCheckpointKey(dataDir)
  const key = own.id === keyId ? own.publicKey : (await trustedKeys(dataDir)).get(keyId)
  return key !== undefined && verify(null, bytesOf(record), key, Buffer.from(signature, 'base64url'))
}

/** Public keys of the other replicas by id: PEM blocks in one file. */
async function trustedKeys(dataDir: string): Promise<ReadonlyMap<string, KeyObject>> {
  const text = (await readIfThere(join(dataDir, 'audit-trusted.pub'))) ?? ''
  const blocks = text.match(/-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g) ?? []
  const keys = blocks.map((block) => createPublicKey(block))
  return new Map(keys.map((key) => [checkpointKeyId(key.export({ type: 'spki', format: 'der' })), key]))
}
