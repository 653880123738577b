import { z } from 'zod'
import { type EventType, eventTypes } from '../events/index.ts'
import { problem } from '../kit/index.ts'
import { Json } from './json.ts'
import type { ModuleManifest } from './manifest.ts'
import { settingsValues } from './settings.ts'

export const samplesFile = 'samples.json'

const Text = z.string().min(1).max(200)

const Expected = z.strictObject({
  documents: z.record(z.string(), Json).optional().meta({ description: 'By key; null: there is no such document' }),
  published: z.array(z.strictObject({ name: Text, payload: Json })).optional(),
  status: z.int().optional(),
  body: Json.optional(),
})
export type Expected = z.infer<typeof Expected>

const Step = z.union([
  z.strictObject({ event: z.strictObject({ type: Text, payload: z.record(z.string(), Json) }), expect: Expected.optional() }),
  z.strictObject({
    request: z.strictObject({
      method: z.string().regex(/^[A-Z]{1,10}$/),
      path: z.string().regex(/^\//, 'must begin with a slash'),
      query: z.record(z.string(), z.string()).optional(),
      headers: z.record(z.string(), z.string()).optional(),
      body: Json.optional(),
      user: z.strictObject({ userId: Text, roles: z.array(Text) }).optional(),
    }),
    expect: Expected.optional(),
  }),
])
export type SampleStep = z.infer<typeof Step>

const Space = z.strictObject({ id: Text, name: Text, type: Text.default('GROUP'), visibility: Text.default('TENANT') })
const File = z.strictObject({ id: Text, spaceId: Text, name: Text, content: z.string() })

/** `samples.json`: a tenant in small, and what is tried on the module, in order. */
export const Samples = z.strictObject({
  settings: z.record(z.string(), Json).default({}),
  spaces: z
    .array(Space)
    .max(100)
    .default([{ id: 'spc_sample', name: 'Sample', type: 'GROUP', visibility: 'TENANT' }]),
  files: z.array(File).max(100).default([]),
  steps: z.array(Step).max(200).default([]),
})
export type Samples = z.infer<typeof Samples>

/** Samples with checked settings. Throws MODULE_INVALID. Without a file: the defaults. */
export function readSamples(text: string | undefined, manifest: ModuleManifest): Samples {
  const invalid = (issues: readonly z.core.$ZodIssue[]) =>
    problem('MODULE_INVALID', `${samplesFile} is not valid.`, {
      details: issues.map(({ path, message }) => ({ path: path.join('.') || samplesFile, reason: message })),
    })
  const parsed = Samples.safeParse(text === undefined ? {} : parseJson(text))
  if (!parsed.success) throw invalid(parsed.error.issues)
  const settings = settingsValues(manifest.settings).safeParse(parsed.data.settings)
  if (!settings.success) throw invalid(settings.error.issues.map((issue) => ({ ...issue, path: ['settings', ...issue.path] })))
  return { ...parsed.data, settings: settings.data as Samples['settings'] }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw problem('MODULE_INVALID', `${samplesFile} is not JSON: ${(cause as Error).message}`, { cause })
  }
}

/** The steps of the samples, and one for each event and route that they leave out: every handler runs once. */
export function stepsOf({ steps }: Samples, { events, routes }: ModuleManifest): readonly SampleStep[] {
  const tried = new Set(steps.map((step) => ('event' in step ? step.event.type : '')))
  const missing = events.subscribes.filter((type) => !tried.has(type))
  const hasRequest = steps.some((step) => 'request' in step)
  return [
    ...steps,
    ...missing.map((type) => ({ event: { type, payload: samplePayload(type) } })),
    ...(routes && !hasRequest ? [{ request: { method: 'GET', path: '/' } }] : []),
  ]
}

const isEventType = (type: string): type is EventType => Object.hasOwn(eventTypes, type)

/** The ids that an event of the platform has. */
function samplePayload(type: string): Record<string, string> {
  if (!isEventType(type)) return {}
  return Object.fromEntries(eventTypes[type].ids.map((id) => [id, id === 'spaceId' ? 'spc_sample' : `sample_${id}`]))
}
