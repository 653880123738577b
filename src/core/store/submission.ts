import { z } from 'zod'
import { Email, shownLine, Timestamp } from '../contract/index.ts'
import { ModuleManifest } from '../modules/index.ts'

/** Limits of one developer. */
export const storeLimits = { openSubmissions: 3, uploadsADay: 10, bytes: 500 * 1024 * 1024 } as const

export const NewDeveloper = z.strictObject({
  inviteCode: z
    .string()
    .max(200)
    .optional()
    .meta({ description: 'A one-use code from an operator; not needed where registration is open' }),
  email: Email,
  name: shownLine(100),
  organization: shownLine(200),
})
export type NewDeveloper = Readonly<z.infer<typeof NewDeveloper>>

export const Developer = z.object({
  id: z.string().meta({ description: 'The value of the header `X-Developer-Id`' }),
  email: z.string(),
  name: z.string(),
  organization: z.string(),
  verified: z.boolean(),
})
export type Developer = Readonly<z.infer<typeof Developer>>

const SubmissionStatus = z.enum(['in_review', 'approved', 'rejected', 'replaced'])

const Finding = z.object({
  rule: z.string(),
  file: z.string(),
  line: z.int().optional(),
  column: z.int().optional(),
  message: z.string(),
})

/** A file of a package. */
export const SourceFile = z.object({
  file: z.string(),
  bytes: z.int(),
  text: z.string().nullable().meta({ description: 'Null for a binary or large file: read it in the package' }),
  findings: z.array(Finding),
})
export type SourceFile = Readonly<z.infer<typeof SourceFile>>

const ScanResult = z.object({
  ok: z.boolean(),
  violations: z.array(Finding),
  files: z.int().meta({ description: 'Number of files' }),
  bytes: z.int().meta({ description: 'Unpacked size' }),
})

const TestResult = z.object({
  ok: z.boolean().meta({ description: 'A failing test is shown to the reviewer; it does not reject' }),
  ran: z.array(z.object({ step: z.string(), ok: z.boolean(), ms: z.number(), calls: z.int(), message: z.string().nullable() })),
  ms: z.number(),
  log: z.array(z.string()),
})

const Review = z.object({
  action: z.enum(['approve', 'reject']),
  notes: z.string(),
  by: z.string().meta({ description: 'Id of the reviewer' }),
  at: Timestamp,
})

export const SubmissionSummary = z.object({
  submissionId: z.string(),
  moduleId: z.string(),
  name: z.string(),
  version: z.string(),
  status: SubmissionStatus.meta({ description: '`replaced`: a newer submission of the module took its place' }),
  artifactPath: z.string().meta({ description: 'Opaque key of the package' }),
  checksum: z.string().meta({ description: 'SHA-256 of the package, hex' }),
  createdAt: Timestamp,
})

export const Submission = SubmissionSummary.extend({
  manifest: ModuleManifest,
  warnings: z.array(z.string()).meta({ description: 'What the reviewer should notice, such as an id that resembles another' }),
  scan: ScanResult,
  test: TestResult,
  review: Review.nullable(),
})
export type Submission = Readonly<z.infer<typeof Submission>>

const pathPart = '[A-Za-z0-9_@-][A-Za-z0-9_@.+ ()-]*'
const SourcePath = z
  .string()
  .max(200)
  .regex(new RegExp(`^(?:${pathPart}/)*${pathPart}$`), 'must be a path such as lib/count.js')

export const NewSubmission = z.strictObject({
  manifest: z.record(z.string(), z.unknown()).meta({ description: 'The content of module.json' }),
  artifactPath: z.string().min(1).max(100).meta({ description: 'As your upload returned it' }),
  sourceFiles: z
    .record(SourcePath, z.string())
    .refine((files) => Object.keys(files).length <= 500, 'must have at most 500 files')
    .optional(),
})
export type NewSubmission = Readonly<z.infer<typeof NewSubmission>>

const Notes = z
  .string()
  .max(4000)
  .trim()
  .regex(/^[^\0]*$/, 'must not contain NUL')

export const ReviewAction = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('approve'), notes: Notes.default('') }),
  z.strictObject({ action: z.literal('reject'), notes: Notes.min(1).meta({ description: 'The reason, for the developer' }) }),
])
export type ReviewAction = Readonly<z.infer<typeof ReviewAction>>
