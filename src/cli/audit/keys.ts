import type { KeyObject } from 'node:crypto'
import { type Checkpoint, checkpointKeyId, checkpointText, type ExportHeader, type SignatureVerdict } from '../../core/audit/index.ts'
import { problem } from '../../core/kit/index.ts'

type Keys = ReadonlyMap<string, KeyObject>
export type Judge = (checkpoint: Checkpoint, header: Pick<ExportHeader, 'publicKey'>) => SignatureVerdict

type Trusted = Readonly<{
  /** Keys that were kept elsewhere: several in one file, one after another. */
  pem: string | undefined
  /** The ids of the keys that kept checkpoints are signed with. */
  named: ReadonlySet<string> | undefined
}>

/**
 * Judges signatures by the keys that are given, or else by those that come with each export. Of these only what kept checkpoints name counts
 * where there are some: whoever writes on after what was signed could bring a key of his own.
 */
export async function judgeBy({ pem: given, named }: Trusted): Promise<Judge> {
  const crypto = await import('node:crypto')
  const read = (pem: string): Keys => new Map(pemBlocks(pem).map((block) => keyed(crypto.createPublicKey(block))))
  const trusted = given === undefined ? undefined : readGiven(given, read)
  const carried = new Map<string, Keys>()
  const keysIn = ({ publicKey }: Pick<ExportHeader, 'publicKey'>): Keys => {
    const known = carried.get(publicKey) ?? orNone(() => read(publicKey))
    carried.set(publicKey, known)
    return known
  }
  return (checkpoint, header) => {
    const isStrange = trusted === undefined && named !== undefined && !named.has(checkpoint.keyId)
    const key = isStrange ? undefined : (trusted ?? keysIn(header)).get(checkpoint.keyId)
    if (!key) return 'other-key'
    const signature = Buffer.from(checkpoint.signature, 'base64url')
    return crypto.verify(null, Buffer.from(checkpointText(checkpoint)), key, signature) ? 'good' : 'bad'
  }
}

const pemBlocks = (text: string): string[] => text.match(/-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g) ?? []

function keyed(key: KeyObject): readonly [string, KeyObject] {
  if (key.asymmetricKeyType !== 'ed25519') throw new Error('not Ed25519')
  return [checkpointKeyId(key.export({ type: 'spki', format: 'der' })), key]
}

function readGiven(pem: string, read: (pem: string) => Keys): Keys {
  const keys = orNone(() => read(pem))
  if (keys.size === 0)
    throw problem('USAGE', '--public-key: the file holds no Ed25519 public key in PEM: `tenantry audit public-key --out <file>` writes one')
  return keys
}

function orNone(read: () => Keys): Keys {
  try {
    return read()
  } catch {
    return new Map()
  }
}
