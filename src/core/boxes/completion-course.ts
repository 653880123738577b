import type { Course } from './course.ts'

export type CompletionStep =
  | 'images'
  | 'keep'
  | 'apply'
  | 'start'
  | 'account'
  | 'prove'
  | 'deliver'
  | 'manage'
  | 'tidy'
  | 'put-back'
  | 'start-again'
  | 'forget'

/** An observed box becomes a managed one, or is again what it was: nothing is applied of which the former is not kept. */
export const completionCourse: Course<CompletionStep> = {
  there: ['images', 'keep', 'apply', 'start', 'account', 'prove', 'deliver', 'manage'],
  after: ['tidy'],
  back: [
    { step: 'put-back', takesBack: 'apply' },
    { step: 'start-again', takesBack: 'apply' },
    { step: 'forget', takesBack: 'keep' },
  ],
}
