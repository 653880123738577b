import { type DeveloperActor, problem } from '../../../core/kit/index.ts'
import { assertSameManifest, readModuleManifest } from '../../../core/modules/index.ts'
import type { NewSubmission } from '../../../core/store/index.ts'
import type { StoreDeps } from './deps.ts'
import type { packageExaminer } from './examine-package.ts'
import { findSubmission } from './store.repo.ts'

type Deps = Pick<StoreDeps, 'db'> & Readonly<{ examiner: ReturnType<typeof packageExaminer> }>

/**
 * Confirms the submission that an upload made: its bytes were scanned and tested then, and never change. Source files of the request are scanned
 * in addition. Throws NOT_FOUND, also for a package of another developer, MANIFEST_MISMATCH, SCAN_FAILED, INVALID_TRANSITION, UNAVAILABLE.
 */
export async function submitPackage(
  { db, examiner }: Deps,
  { developerId }: DeveloperActor,
  { manifest, artifactPath, sourceFiles = {}, signal }: NewSubmission & Readonly<{ signal: AbortSignal }>,
) {
  const sent = readModuleManifest(JSON.stringify(manifest))
  // First, so that forbidden code is named (spec 3.2) whatever else the request lacks.
  await examiner.scanSources({ sourceFiles, signal })
  const one = await findSubmission(db, { artifactId: artifactPath })
  if (one?.developerId !== developerId)
    throw problem('NOT_FOUND', `You uploaded no package ${artifactPath}. fix: upload it with POST …/store/developer/upload`)
  // The stored manifest has its defaults.
  assertSameManifest(sent, one.manifest)
  if (one.status !== 'in_review')
    throw problem('INVALID_TRANSITION', `Submission ${one.id} of this package is ${one.status}. fix: upload the package again`)
  return { submissionId: one.id, status: 'in_review' as const }
}
