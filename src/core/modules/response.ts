import { z } from 'zod'

/** The return value of `handle` without its body, which the sandbox hands over as JSON. */
export const ModuleResponse = z.strictObject({
  status: z.int().min(200).max(599).default(200),
  headers: z.record(z.string().regex(/^[a-z][a-z0-9-]{0,49}$/, 'must be a header name in lower case'), z.string().max(1000)).default({}),
})
export type ModuleResponse = z.infer<typeof ModuleResponse>
