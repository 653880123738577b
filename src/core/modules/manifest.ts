import semver from 'semver'
import { z } from 'zod'
import { Email } from '../contract/index.ts'
import { streamTypeOf } from '../events/index.ts'
import { canonicalJson, isVisible, problem } from '../kit/index.ts'
import { Permission } from './permissions.ts'
import { SettingsSchema } from './settings.ts'

/** First words of ids that belong to the platform, and words of its routes. */
const reserved = [
  'core',
  'tenantry',
  'admin',
  'system',
  'registry',
  'installed',
  'install',
  'modules',
  'store',
  'module-api',
  'api',
  'health',
]

export const ModuleId = z
  .string()
  .regex(/^[a-z][a-z0-9-]{2,49}$/, 'must have 3 to 50 lower-case letters, digits and dashes, and begin with a letter')
  .refine((id) => !reserved.includes(id) && !id.startsWith('svc-'), 'is reserved')

const line = (max: number) => z.string().trim().min(1).max(max).refine(isVisible, 'must not contain control characters')

const Version = z
  .string()
  .max(50)
  .refine((version) => semver.valid(version) === version && !version.includes('+'), 'must be a version such as 1.4.0')
const Range = z
  .string()
  .max(100)
  .refine(
    (range) => range.trim() !== '' && semver.validRange(range) !== null && semver.valid(range) === null,
    'must be a range such as >=1.0.0, not one version',
  )

const FlagName = z.string().regex(/^[a-z][A-Za-z0-9._-]{0,79}$/, 'must be a name such as attendance, starting with a lower-case letter')

/** A path of the package: no leading slash, no dot segment. */
const CodeFile = z
  .string()
  .max(200)
  .regex(/^(?!\.)[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*\.m?js$/, 'must be a path such as index.js')

export const EventName = z.string().regex(/^[a-z][a-z0-9_]{0,39}$/, 'must be a name such as lesson_missed')

/** A stored event of the platform, or `module.<id>.<name>` of another module. */
const SubscribedType = z
  .string()
  .max(120)
  .refine((type) => streamTypeOf(type) !== undefined, 'must be an event such as space.created; docs/module-authors.md lists all')

export const moduleCategories = ['communication', 'organization', 'analytics', 'integration', 'security', 'other'] as const

export const ModuleCategory = z.enum(moduleCategories)

const Billing = z.strictObject({
  model: z.literal('subscription'),
  monthlyPrice: z.number().min(0).max(100_000).multipleOf(0.01).meta({ description: 'In the main unit of the currency' }),
  currency: z.string().regex(/^[A-Z]{3}$/, 'must be a code such as EUR'),
})

const unique = (values: readonly string[]) => new Set(values).size === values.length
const distinct = 'must not contain an entry twice'

/** `module.json`. Unknown fields are refused: a typing error would otherwise change nothing in silence. */
export const ModuleManifest = z
  .strictObject({
    id: ModuleId,
    name: line(80),
    version: Version,
    type: z.enum(['A', 'B']),
    svcCoreVersion: Range,
    description: line(500),
    author: z.strictObject({ name: line(100), email: Email }),
    license: line(100),
    category: ModuleCategory.default('other'),
    billing: Billing.nullable().default(null),
    permissions: z.array(Permission).refine(unique, distinct),
    featureFlag: FlagName,
    main: CodeFile.default('index.js'),
    events: z
      .strictObject({
        subscribes: z.array(SubscribedType).max(50).refine(unique, distinct).default([]),
        publishes: z
          .array(z.strictObject({ name: EventName, notify: z.boolean().default(false) }))
          .max(50)
          .refine((events) => unique(events.map(({ name }) => name)), distinct)
          .default([]),
      })
      .default({ subscribes: [], publishes: [] }),
    routes: z.boolean().default(false),
    settings: SettingsSchema.nullable().default(null),
    dataVersion: z.int().min(0).max(1000).default(0).meta({ description: 'The number of migrations that the module exports' }),
    dataProcessing: z
      .strictObject({
        operator: line(200),
        country: z.string().regex(/^[A-Z]{2}$/, 'must be a code such as DE'),
        privacyUrl: z.url().max(500),
      })
      .optional(),
  })
  .superRefine(({ type, permissions, events, dataProcessing, id }, context) => {
    const issue = (path: (string | number)[], message: string) => context.addIssue({ code: 'custom', path, message })
    if (events.subscribes.length > 0 && !permissions.includes('events:subscribe'))
      issue(['events', 'subscribes'], 'needs the permission events:subscribe')
    if (events.publishes.length > 0 && !permissions.includes('events:publish'))
      issue(['events', 'publishes'], 'needs the permission events:publish')
    if (events.subscribes.some((one) => one.startsWith(`module.${id}.`)))
      issue(['events', 'subscribes'], 'must not name an event of the module itself')
    if (type === 'B' && !dataProcessing) issue(['dataProcessing'], 'is required for type B: operator, country and privacyUrl')
    if (type === 'A' && dataProcessing) issue(['dataProcessing'], 'belongs to type B: a type A module runs on this platform')
  })
export type ModuleManifest = z.infer<typeof ModuleManifest>

export const manifestFile = 'module.json'

/** Reads `module.json`. Throws MODULE_INVALID with the path of each wrong field. */
export function readModuleManifest(text: string): ModuleManifest {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw problem('MODULE_INVALID', `${manifestFile} is not JSON: ${(cause as Error).message}`, { cause })
  }
  const parsed = ModuleManifest.safeParse(value)
  if (parsed.success) return parsed.data
  const details = parsed.error.issues.map(({ path, message }) => ({ path: path.join('.') || manifestFile, reason: message }))
  throw problem('MODULE_INVALID', `${manifestFile} is not valid.`, { details })
}

/** Throws MANIFEST_MISMATCH unless both are the same value; the order of keys and the spacing do not matter. */
export function assertSameManifest(inRequest: unknown, inPackage: unknown): void {
  if (canonicalJson(inRequest) === canonicalJson(inPackage)) return
  throw problem(
    'MANIFEST_MISMATCH',
    `The manifest of the request differs from ${manifestFile} of the package. fix: send the content of ${manifestFile} as it is`,
  )
}
