import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'

export const TaskStatus = z.enum(['open', 'in_progress', 'done', 'cancelled'])
export type TaskStatus = z.infer<typeof TaskStatus>

export const unfinished = ['open', 'in_progress'] as const satisfies readonly TaskStatus[]

export const Task = z.object({
  id: z.string(),
  /** Set by the creator; unique per tenant and event. */
  externalId: z.string().nullable(),
  eventId: z.string().nullable(),
  spaceId: z.string().nullable(),
  runId: z.string().nullable(),
  title: z.string(),
  status: TaskStatus,
  /** As written by the creator: `SCHOOL_PRINCIPAL` and `school-principal` are the same role. */
  assignedRole: z.string().nullable(),
  assigneeId: z.string().nullable(),
  dueAt: Timestamp.nullable(),
  escalationLevel: z.int(),
  escalatedAt: Timestamp.nullable(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type Task = Readonly<z.infer<typeof Task>>

/** Normalises a role name: automation writes `SCHOOL_PRINCIPAL` (spec 4.4), the role file `school-principal`. */
export const roleKey = (role: string): string => role.toLowerCase().replaceAll('_', '-')
