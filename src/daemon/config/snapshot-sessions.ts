import { z } from 'zod'
import { sessionsAddressError } from '../../core/snapshots/index.ts'

const SessionsAddress = z.string().superRefine((text, { addIssue }) => {
  const message = sessionsAddressError(text)
  if (message) addIssue({ code: 'custom', message })
})

/** Temporary credentials of a snapshot store. */
export const SnapshotSessions = z.strictObject({
  endpoint: SessionsAddress,
  roleArn: z
    .string()
    .regex(/^arn:[!-~]{1,200}$/, 'must be the ARN of a role')
    .optional(),
  region: z
    .string()
    .regex(/^[a-z0-9-]{1,40}$/, 'must be a region such as eu-central-1')
    .default('us-east-1'),
  hours: z.coerce.number().int().min(1).max(36).default(12),
})
