import { z } from 'zod'
import { capabilities, type FieldReason, isVisible, plural, problem, visiblePattern } from '../kit/index.ts'

export const Capability = z.enum(capabilities)
export type Capability = z.infer<typeof Capability>

/** The dotted path and reason of every field that does not fit. Unknown keys are named one by one. */
export function fieldReasons(error: z.ZodError, root = ''): FieldReason[] {
  return error.issues.flatMap((issue) => {
    const path = [root, ...issue.path.map(String)].filter((part) => part !== '').join('.')
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => ({ path: [path, key].filter(Boolean).join('.'), reason: 'is not a known field' }))
    return [{ path: path || '(whole)', reason: reasonOf(issue) }]
  })
}

/** Our own words stay; those of the parser are said plainly. */
function reasonOf(issue: z.core.$ZodIssue): string {
  if (issue.message.endsWith('received undefined')) return 'is missing'
  if (issue.code === 'invalid_value' && issue.message.startsWith('Invalid option')) return `must be one of ${issue.values.join(', ')}`
  if (issue.code === 'invalid_value' && issue.message.startsWith('Invalid input')) return `must be ${issue.values.join(', ')}`
  if (issue.code === 'invalid_union' && issue.message.startsWith('Invalid')) return formsOf(issue) ?? issue.message
  if (issue.code === 'invalid_type' && issue.message.startsWith('Invalid input'))
    return `must be ${typeNames[issue.expected] ?? issue.expected}`
  if (issue.code === 'invalid_format' && issue.message.startsWith('Invalid ISO')) return formatNames[issue.format] ?? issue.message
  return boundOf(issue) ?? issue.message
}

const typeNames: Readonly<Record<string, string>> = {
  ...{ string: 'a text', number: 'a number', int: 'a whole number', boolean: 'true or false' },
  ...{ array: 'a list', object: 'an object', record: 'an object' },
}

const formatNames: Readonly<Record<string, string>> = {
  date: 'must be a date such as 2026-11-27',
  datetime: 'must be a time such as 2026-11-27T08:00:00Z or 2026-11-27T09:00:00+01:00',
}

/** The values of a discriminator, or what each form of a value is; undefined where the parser knows neither. */
function formsOf(issue: z.core.$ZodIssueInvalidUnion): string | undefined {
  const { options } = issue as Readonly<{ options?: readonly unknown[] }>
  if (options && options.length > 0) return `must be one of ${options.join(', ')}`
  const reasons = issue.errors.map(([first]) => (first && first.path.length === 0 ? reasonOf(first) : undefined))
  return reasons.length > 0 && !reasons.includes(undefined) ? [...new Set(reasons)].join(', or ') : undefined
}

/** How much there must or may be; undefined where the parser speaks of something else, or the contract has words of its own. */
function boundOf(issue: z.core.$ZodIssue): string | undefined {
  if (issue.code !== 'too_small' && issue.code !== 'too_big') return undefined
  if (!/^Too (small|big): /.test(issue.message) || issue.inclusive === false) return undefined
  const [bound, limit] = issue.code === 'too_small' ? ['at least', issue.minimum] : ['at most', issue.maximum]
  const unit = units[issue.origin]
  return `must ${unit ? 'have' : 'be'} ${issue.exact ? 'exactly' : bound} ${unit ? plural(Number(limit), ...unit) : limit}`
}

const units: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: ['character', 'characters'],
  array: ['entry', 'entries'],
}

/** Reasons sent: a small body can have very many faults. */
const maxDetails = 100

/** Parses one part of a request (`body`, `query`, `params`) or throws VALIDATION with a reason per field. */
export function parsePart<Schema extends z.ZodType>(schema: Schema, value: unknown, part: string): z.output<Schema> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const details = fieldReasons(result.error, part)
  throw problem(
    'VALIDATION',
    `${details[0]?.path}: ${details[0]?.reason}${details.length > 1 ? ` (and ${details.length - 1} more)` : ''}`,
    { details: details.slice(0, maxDetails) },
  )
}

/** Parses the query of a request. Unknown parameters are ignored: proxies, browsers and older clients add some. Throws VALIDATION. */
export function parseQuery<Schema extends z.ZodType>(schema: Schema, query: Readonly<Record<string, unknown>>): z.output<Schema> {
  const issues = schema.safeParse(query).error?.issues ?? []
  const unknown = new Set(issues.flatMap((issue) => (issue.code === 'unrecognized_keys' && issue.path.length === 0 ? issue.keys : [])))
  return parsePart(schema, Object.fromEntries(Object.entries(query).filter(([name]) => !unknown.has(name))), '')
}

/** A page of a list: `limit` at most 200, `cursor` as the page before returned it. */
export const Paging = z.strictObject({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  cursor: z.string().max(200).optional(),
})

/** Paging of a list in the order of a key, which is the cursor. A cursor of another form was returned by no page. */
export const pagingBy = (key: z.ZodType<string>) =>
  Paging.extend({
    cursor: z
      .string()
      .max(255)
      .refine((cursor) => key.safeParse(cursor).success, 'must be the nextCursor of the previous page')
      .optional(),
  })

/** A whole number from 1 that fits into every column for such: positions in lists, tokens of leases. */
export const Counter = z.int().min(1).max(2_147_483_647)

/** The same where it comes as text: in an address. */
export const CounterText = z.coerce.number().pipe(Counter)

const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?'

/**
 * A mail address that mail servers take: at most 64 characters before the @, labels of at most 63 after it.
 * The pattern is the whole rule: checkers of the format `email` disagree with each other about rare domains.
 */
export const Email = z
  .string()
  .max(200)
  .regex(
    new RegExp(String.raw`^(?!\.)(?!.*\.\.)[A-Za-z0-9_'+.-]{0,63}[A-Za-z0-9_+-]@(?:${label}\.)+[A-Za-z]{2,63}$`),
    'must be a mail address such as name@example.org',
  )

/** Yes or no where it comes as text: in an address. Capitals are taken too. */
export const YesNo = z.stringbool().meta({ enum: ['true', '1', 'yes', 'on', 'y', 'enabled', 'false', '0', 'no', 'off', 'n', 'disabled'] })

export const Timestamp = z.iso.datetime().meta({ description: 'ISO 8601, UTC' })

/** In UTC with milliseconds; unchanged if it is no time. */
function inUtc(time: string): string {
  const ms = Date.parse(time)
  return Number.isNaN(ms) ? time : new Date(ms).toISOString()
}

/** Years that an offset leads out of have no four digits. */
const maxIsoLength = '9999-12-31T23:59:59.999Z'.length

/** One line of at most `max` characters that shows all that is in it, without the space at its ends. */
export const shownLine = (max: number) =>
  z.string().max(max).trim().min(1).refine(isVisible, 'must not contain control characters').meta({ pattern: visiblePattern })

/** A time in a request, with any offset. It becomes UTC with milliseconds: stored times are compared as text. */
export const TimeInput = z.iso
  .datetime({ offset: true })
  .refine((time) => inUtc(time).length <= maxIsoLength, 'must be a time of the years 0000 to 9999 in UTC')
  .overwrite(inUtc)
  .meta({ description: 'RFC 3339, such as 2026-11-27T08:00:00Z or 2026-11-27T09:00:00+01:00; stored in UTC' })
