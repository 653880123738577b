import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { problem } from '../../../core/kit/index.ts'
import type { FileBody } from '../../http/index.ts'
import type { Keyring } from '../../sealed/index.ts'
import { packageKey, type StoreDeps } from './deps.ts'
import { findSubmission, type SubmissionRecord } from './store.repo.ts'

const expiresInSeconds = 900

type Link = Readonly<{ key: string; submissionId: string; expires: number }>

/** Signs method, key, submission and expiry. A link signed with an older key of the ring is valid until it expires. */
function signaturesOf({ keys }: Keyring, { key, submissionId, expires }: Link): Buffer[] {
  const text = ['GET', key, submissionId, expires].join('\n')
  return keys.map(({ bytes }) =>
    createHmac('sha256', Buffer.from(hkdfSync('sha256', bytes, 'tenantry', 'store-download', 32)))
      .update(text)
      .digest(),
  )
}

const seconds = ({ clock }: Pick<StoreDeps, 'clock'>) => Math.floor(clock.now().getTime() / 1000)

/** A link to the package that works without a login for 15 minutes. */
export function linkTo(deps: Pick<StoreDeps, 'clock' | 'keyring' | 'baseUrl'>, { artifactId: key, id: submissionId }: SubmissionRecord) {
  const expires = seconds(deps) + expiresInSeconds
  const [signature] = signaturesOf(deps.keyring, { key, submissionId, expires })
  const query = `expires=${expires}&signature=${signature?.toString('base64url')}`
  return { downloadUrl: `${deps.baseUrl}/api/public/store/artifacts/${key}?${query}`, expiresInSeconds }
}

type Asked = Readonly<{ key: string; expires: number; signature: string }>

/** The package behind a link. Throws FORBIDDEN for an expired or wrong link, and for an unknown key alike. */
export async function downloadPackage(deps: Pick<StoreDeps, 'db' | 'clock' | 'keyring' | 'objects'>, asked: Asked): Promise<FileBody> {
  const { key, expires } = asked
  const found = await findSubmission(deps.db, { artifactId: key })
  const input = Buffer.from(asked.signature, 'base64url')
  const isSigned = found
    ? signaturesOf(deps.keyring, { key, submissionId: found.id, expires }).some(
        (one) => one.length === input.length && timingSafeEqual(one, input),
      )
    : false
  if (!found || !isSigned || expires <= seconds(deps))
    throw problem(
      'FORBIDDEN',
      'The download link is wrong or expired. fix: request a new one with GET …/store/developer/download/<submission>',
    )
  const { bytes } = await deps.db.selectFrom('store_artifacts').select('bytes').where('id', '=', key).executeTakeFirstOrThrow()
  return {
    ...{ fileName: `${found.moduleId}-${found.version}.zip`, contentType: 'application/zip', inline: false },
    ...{ bytes: Number(bytes), etag: `"${found.checksum.slice(0, 32)}"` },
    async open(range) {
      const content = await deps.objects.get(packageKey(key), range)
      if (!content) throw problem('NOT_FOUND', `The package of ${found.id} is missing in the object store. fix: upload it again`)
      return content
    },
  }
}
