import { createContext, type ReactNode, useContext } from 'react'
import { catalogue, type Problem, splitFix } from '../../core/kit/index.ts'

/** The words of the kit itself. */
const english = {
  loading: 'Loading',
  copy: 'Copy',
  copied: 'Copied',
  notCopied: 'Not copied: select the text',
  copyOf: (text: string) => `Copy ${text}`,
  cancel: 'Cancel',
  more: 'Show more',
  reason: 'Reason, for the audit log',
  optionalReason: 'Reason (optional), for the audit log',
  /** Around the text to type. */
  confirm: ['Type ', ' to confirm'] as readonly [string, string],
  pageFailed: 'This page failed',
  tryAgain: 'Try again',
  next: 'Next:',
  request: 'request',
  detail: (path: string, reason: string) => `${path} ${reason}`,
  /** Title, cause and next step. */
  problem: ({ code, message }: Pick<Problem, 'code' | 'message'>): ProblemText => ({ title: catalogue[code].title, ...splitFix(message) }),
}
type ProblemText = Readonly<{ title: string; what: string; fix: string | undefined }>

export type KitTexts = Readonly<typeof english>

const Texts = createContext<KitTexts>(english)

/** A page in another language gives the kit its words. */
export const KitTextsProvider = ({ texts = english, children }: Readonly<{ texts: KitTexts | undefined; children: ReactNode }>) => (
  <Texts value={texts}>{children}</Texts>
)

export const useKitTexts = (): KitTexts => useContext(Texts)
