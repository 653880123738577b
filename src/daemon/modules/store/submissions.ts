import { pageEnd, pageOf, readPageEnd } from '../../../core/contract/index.ts'
import { type DeveloperActor, problem } from '../../../core/kit/index.ts'
import type { Submission } from '../../../core/store/index.ts'
import type { StoreDeps } from './deps.ts'
import { findSubmission, type SubmissionRecord, submissionsOf } from './store.repo.ts'

type Deps = Pick<StoreDeps, 'db'>
type Page = Readonly<{ cursor?: string | undefined; limit: number }>

/** A submission as its developer reads it. */
export const submissionView = ({ id: _, developerId: __, artifactId: ___, ...view }: SubmissionRecord): Submission => view

const summaryOf = ({ submissionId, moduleId, name, version, status, artifactPath, checksum, createdAt }: SubmissionRecord) => ({
  ...{ submissionId, moduleId, name, version, status, artifactPath, checksum, createdAt },
})

/** A page of submissions, newest first. Throws VALIDATION for an invalid cursor. */
export async function pageOfSubmissions(
  { db }: Deps,
  of: Parameters<typeof submissionsOf>[1]['of'],
  { cursor, limit }: Page,
): Promise<{ page: SubmissionRecord[]; nextCursor: string | null }> {
  const after = cursor === undefined ? undefined : readPageEnd(cursor)
  return pageOf(await submissionsOf(db, { of, after, limit: limit + 1 }), limit, pageEnd)
}

export async function listSubmissions(deps: Deps, { developerId }: DeveloperActor, page: Page) {
  const { page: found, nextCursor } = await pageOfSubmissions(deps, { developerId }, page)
  return { submissions: found.map(summaryOf), nextCursor }
}

/** A submission of this developer. Throws NOT_FOUND, also for one of another developer. */
export async function ownSubmission({ db }: Deps, { developerId }: DeveloperActor, id: string): Promise<SubmissionRecord> {
  const found = await findSubmission(db, { id })
  if (found?.developerId !== developerId)
    throw problem('NOT_FOUND', `Submission ${id} does not exist. fix: list yours with GET …/store/developer/submissions`)
  return found
}
