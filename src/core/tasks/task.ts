import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'

export const TaskStatus = z.enum(['open', 'in_progress', 'done', 'cancelled'])
export type TaskStatus = z.infer<typeof TaskStatus>

/** Those that somebody still has to do. */
export const unfinished = ['open', 'in_progress'] as const satisfies readonly TaskStatus[]

/** A task of a tenant, as answers show it. */
export const Task = z.object({
  id: z.string(),
  /** What its maker calls it; unique per tenant and event. */
  externalId: z.string().nullable(),
  eventId: z.string().nullable(),
  spaceId: z.string().nullable(),
  runId: z.string().nullable(),
  title: z.string(),
  status: TaskStatus,
  /** As its maker wrote it: `SCHOOL_PRINCIPAL` and `school-principal` are one role. */
  assignedRole: z.string().nullable(),
  /** Id of a user in the registry. */
  assigneeId: z.string().nullable(),
  dueAt: Timestamp.nullable(),
  escalationLevel: z.int(),
  escalatedAt: Timestamp.nullable(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type Task = Readonly<z.infer<typeof Task>>

/** The form of role names in the role book: automation writes `SCHOOL_PRINCIPAL` (spec 4.4), the book says `school-principal`. */
export const roleKey = (role: string): string => role.toLowerCase().replaceAll('_', '-')
