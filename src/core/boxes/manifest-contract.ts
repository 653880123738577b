import { z } from 'zod'
import { admin, type Contract, CounterText, endpoint, Paging, Timestamp } from '../contract/index.ts'
import { Manifest } from './manifest.ts'

const manifestBase = '/api/admin/v1/manifest'

const ManifestBody = z.strictObject({ manifest: z.unknown().meta({ description: 'A manifest; see GET for its form' }) })

/** A manifest as it was applied. */
export const ManifestRevision = z.object({
  revision: z.number().int(),
  manifest: Manifest,
  appliedAt: Timestamp,
  appliedBy: z.string(),
})
export type ManifestRevision = z.infer<typeof ManifestRevision>

const ManifestChange = z.object({ path: z.string(), from: z.string().nullable(), to: z.string().nullable() })

/** The canonical versions, which boxes are compared with and moved to. */
export const manifestContract = {
  showManifest: endpoint({
    method: 'GET',
    path: manifestBase,
    auth: admin('viewer'),
    returns: ManifestRevision,
    problems: ['NOT_FOUND'],
    summary: 'The canonical version manifest',
    spec: '9',
  }),
  diffManifest: endpoint({
    method: 'POST',
    path: `${manifestBase}/diff`,
    auth: admin('viewer'),
    body: ManifestBody,
    returns: z.object({ revision: z.number().int(), changes: z.array(ManifestChange) }),
    problems: ['MANIFEST_INVALID'],
    summary: 'What applying a manifest would change; changes nothing',
  }),
  applyManifest: endpoint({
    method: 'POST',
    path: manifestBase,
    auth: admin('operator'),
    body: ManifestBody,
    returns: z.object({ revision: z.number().int(), changed: z.boolean(), changes: z.array(ManifestChange) }),
    problems: ['MANIFEST_INVALID', 'CONFLICT'],
    summary: 'Make a manifest the canonical one; the same content keeps its revision',
    spec: '9',
  }),
  listManifestRevisions: endpoint({
    method: 'GET',
    path: `${manifestBase}/revisions`,
    auth: admin('viewer'),
    query: Paging.extend({ cursor: CounterText.optional() }),
    returns: z.object({ revisions: z.array(ManifestRevision), nextCursor: z.string().nullable() }),
    summary: 'All manifests that were applied, newest first',
  }),
} as const satisfies Contract
