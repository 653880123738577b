import { problem } from '../../../core/kit/index.ts'
import type { ModuleManifest } from '../../../core/modules/index.ts'
import { type ComparedVersion, differenceOf, type SourceFile } from '../../../core/store/index.ts'
import { readArchive } from '../../../node/module-package/index.ts'
import { approvedVersionsOf } from './approved-modules.ts'
import type { StoreDeps } from './deps.ts'
import { developerOf } from './developers.ts'
import { linkTo } from './download-package.ts'
import { findSubmission, type SubmissionRecord } from './store.repo.ts'
import { storedPackage } from './stored-package.ts'
import { submissionView } from './submissions.ts'

type Deps = Pick<StoreDeps, 'db' | 'clock' | 'keyring' | 'baseUrl' | 'objects'>

/** Text that a response shows; the rest is in the package. */
const maxFileBytes = 256 * 1024
const maxTextBytes = 2 * 1024 * 1024

/** A submission with its source and its difference to the last approved version. Throws NOT_FOUND. */
export async function showReview(deps: Deps, id: string) {
  const one = await findSubmission(deps.db, { id })
  if (!one) throw problem('NOT_FOUND', `Submission ${id} does not exist. fix: tenantry reviews list`)
  const developer = await deps.db.selectFrom('store_developers').selectAll().where('id', '=', one.developerId).executeTakeFirstOrThrow()
  const content = await contentOf(deps, one)
  if (!content) throw problem('NOT_FOUND', `The package ${one.artifactId} is missing in the object store. fix: restore it from a backup`)
  const { files, sources } = content
  const before = (await approvedVersionsOf(deps.db, one.moduleId)).findLast(({ submissionId }) => submissionId !== id)
  const old = before && (await contentOf(deps, before))
  const previous = before && old ? { manifest: before.manifest, files: old.files } : null
  const view = submissionView(one)
  // A decision must be possible even though an approved package is lost.
  const warnings = before && !old ? [...view.warnings, missingPackage(before)] : view.warnings
  return {
    ...{ ...view, warnings, developer: developerOf(developer), ...linkTo(deps, one) },
    ...{ difference: differenceOf(previous, { manifest: one.manifest, files }), sources },
  }
}

const missingPackage = ({ artifactId, manifest: { version } }: Readonly<{ artifactId: string; manifest: ModuleManifest }>) =>
  `The package ${artifactId} of the approved version ${version} is missing in the object store, so everything counts as added. fix: restore it from a backup`

type Content = Readonly<{ files: ComparedVersion['files']; sources: SourceFile[] }>

/** Hashes and text of the files of a stored package; undefined if it is missing. Findings of the scan are placed at their file. */
async function contentOf(
  { objects }: Deps,
  { artifactId, ...one }: Pick<SubmissionRecord, 'artifactId'> & Partial<SubmissionRecord>,
): Promise<Content | undefined> {
  const stored = await storedPackage({ objects }, artifactId)
  if (!stored) return undefined
  const files = new Map<string, string>()
  const sources: SourceFile[] = []
  let shownBytes = 0
  await readArchive(stored.bytes, ({ name, bytes, sha256 }) => {
    files.set(name, sha256)
    const isShown = bytes.length <= maxFileBytes && shownBytes + bytes.length <= maxTextBytes && !bytes.includes(0)
    if (isShown) shownBytes += bytes.length
    const findings = one.scan?.violations.filter(({ file }) => file === name) ?? []
    sources.push({ file: name, bytes: bytes.length, text: isShown ? bytes.toString('utf8') : null, findings })
  })
  return { files, sources }
}
