import { z } from 'zod'
import { Service } from './names.ts'

// The running services of a box: their log lines, and what they use of their host.

/** One line of a container's output; the time is the engine's. */
export const LogLine = z.object({ at: z.string(), service: z.string(), text: z.string().max(4_000) })
export type LogLine = z.infer<typeof LogLine>

/** Lines that followers get at once. `leftOut`: lines before them were left out, because the services write more than can be sent. */
export const LogBatch = z.object({ lines: z.array(LogLine).max(1_000), leftOut: z.boolean() })
export type LogBatch = z.infer<typeof LogBatch>

/** A container of a box and its use of the host. Null: the engine does not count it, for example because it does not run. */
export const ServiceUsage = z.object({
  service: Service,
  image: z.string(),
  state: z.enum(['created', 'running', 'restarting', 'exited']),
  exitCode: z.number().int().nullable(),
  /** By the engine's clock. */
  startedAt: z.string(),
  restarts: z.number().int(),
  /** Share of one core: 100 is a whole one. */
  cpuPercent: z.number().nullable(),
  memoryBytes: z.number().nullable(),
  /** The limit of the container, or the memory of the host. */
  memoryLimitBytes: z.number().nullable(),
})
export type ServiceUsage = z.infer<typeof ServiceUsage>
