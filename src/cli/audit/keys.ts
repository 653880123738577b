import type { KeyObject } from 'node:crypto'
import { type Checkpoint, checkpointKeyId, checkpointText, type ExportHeader, type SignatureVerdict } from '../../core/audit/index.ts'
import { problem } from '../../core/kit/index.ts'

type Keys = ReadonlyMap<string, KeyObject>
export type VerifySignature = (checkpoint: Checkpoint, header: Pick<ExportHeader, 'publicKey'>) => SignatureVerdict

type Trusted = Readonly<{
  /** Keys stored outside the log; one file may contain several. */
  pem: string | undefined
  /** Ids of the keys that signed the stored checkpoints. */
  named: ReadonlySet<string> | undefined
}>

/**
 * Verifies signatures with the given keys, or else with the keys in each export. With stored checkpoints, only the keys they name are trusted:
 * an attacker could append entries signed with a key of their own.
 */
export async function signatureVerifier({ pem, named }: Trusted): Promise<VerifySignature> {
  const crypto = await import('node:crypto')
  const read = (text: string): Keys => new Map(pemBlocks(text).map((block) => keyed(crypto.createPublicKey(block))))
  const trusted = pem === undefined ? undefined : readTrusted(pem, read)
  const carried = new Map<string, Keys>()
  const keysIn = ({ publicKey }: Pick<ExportHeader, 'publicKey'>): Keys => {
    const known = carried.get(publicKey) ?? orNone(() => read(publicKey))
    carried.set(publicKey, known)
    return known
  }
  return (checkpoint, header) => {
    const isForeign = trusted === undefined && named !== undefined && !named.has(checkpoint.keyId)
    const key = isForeign ? undefined : (trusted ?? keysIn(header)).get(checkpoint.keyId)
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

function readTrusted(pem: string, read: (pem: string) => Keys): Keys {
  const keys = orNone(() => read(pem))
  if (keys.size === 0)
    throw problem('USAGE', '--public-key: the file contains no Ed25519 public key in PEM. fix: `tenantry audit public-key --out <file>`')
  return keys
}

function orNone(read: () => Keys): Keys {
  try {
    return read()
  } catch {
    return new Map()
  }
}
