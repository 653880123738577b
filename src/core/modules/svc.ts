import { z } from 'zod'
import { Json } from './json.ts'
import type { Violation, ViolationKind } from './limits.ts'
import { EventName } from './manifest.ts'
import type { Permission } from './permissions.ts'

// The calls of `svc` that leave the sandbox. The daemon, the test run and the author's own machine serve the same table.

const Key = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:/-]{0,199}$/, 'must be a key such as lesson:42')
/** Keys have these letters only, and letters that a database cannot store must not reach it. */
const Prefix = z.string().regex(/^[A-Za-z0-9._:/-]{0,200}$/, 'must be the beginning of a key')
const Id = z.string().regex(/^[A-Za-z0-9_.-]{1,100}$/, 'must be an id')
const FileName = z
  .string()
  .min(1)
  .max(200)
  .refine((name) => !/[\p{Cc}\p{Surrogate}/\\]/u.test(name) && name.trim() === name, 'must be a file name without slashes')

const call = <Input extends z.ZodType>(permission: Permission | null, input: Input) => ({ permission, input })

/** Every call: the permission it needs, and its argument. */
export const svcCalls = {
  'data.get': call(null, z.strictObject({ key: Key })),
  'data.put': call(null, z.strictObject({ key: Key, value: Json })),
  'data.delete': call(null, z.strictObject({ key: Key })),
  'data.list': call(
    null,
    z.strictObject({ prefix: Prefix.default(''), limit: z.int().min(1).max(1000).default(100), after: Key.optional() }),
  ),
  'events.publish': call('events:publish', z.strictObject({ name: EventName, payload: Json, spaceId: Id.optional() })),
  'spaces.list': call('spaces:read', z.strictObject({})),
  'files.list': call('files:read', z.strictObject({ spaceId: Id })),
  'files.read': call('files:read', z.strictObject({ fileId: Id })),
  'files.write': call('files:write', z.strictObject({ spaceId: Id, name: FileName, content: z.string() })),
} as const

type SvcCall = keyof typeof svcCalls
type SvcInput<Name extends SvcCall> = z.output<(typeof svcCalls)[Name]['input']>

/** Serves the calls of one run. What they return must be JSON; `undefined` is null. */
export type SvcHandlers = { readonly [Name in SvcCall]: (input: SvcInput<Name>) => Promise<unknown> }

/** The answer to a call; `code` reaches the module as a property of the error. */
export type CallAnswer = Readonly<{ value: unknown } | { error: Readonly<{ code: string; message: string }>; violation?: Violation }>

/** An expected refusal of a call: the module sees its code and message. */
export class CallRefused extends Error {
  readonly code: string
  readonly violation: ViolationKind | undefined
  /** `violation`: the limit that the call would break; shown in the health of the module. */
  constructor(code: string, message: string, violation?: ViolationKind) {
    super(message)
    this.name = 'CallRefused'
    this.code = code
    this.violation = violation
  }
}

export type ServeCall = (name: string, argument: unknown) => Promise<CallAnswer>

/** Checks name, permission and argument of each call before a handler sees it. Everything that arrives is untrusted. */
export const serveCalls =
  (approved: readonly Permission[], handlers: SvcHandlers): ServeCall =>
  async (name, argument) => {
    if (!isSvcCall(name)) return { error: { code: 'UNKNOWN_CALL', message: 'svc has no such function' } }
    const { permission, input } = svcCalls[name]
    if (permission !== null && !approved.includes(permission)) {
      const message = `svc.${name} needs the permission ${permission}, which is not approved`
      return { error: { code: 'PERMISSION', message }, violation: { kind: 'permission', message } }
    }
    const parsed = input.safeParse(argument)
    if (!parsed.success) {
      const [issue] = parsed.error.issues
      return { error: { code: 'ARGUMENT', message: `svc.${name}: ${issue?.path.join('.') || 'argument'}: ${issue?.message}` } }
    }
    try {
      return { value: (await (handlers[name] as (input: unknown) => Promise<unknown>)(parsed.data)) ?? null }
    } catch (error) {
      if (!(error instanceof CallRefused)) throw error
      const { code, message, violation: kind } = error
      return { error: { code, message }, ...(kind ? { violation: { kind, message } } : {}) }
    }
  }

const isSvcCall = (name: string): name is SvcCall => Object.hasOwn(svcCalls, name)
