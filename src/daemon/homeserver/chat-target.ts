import type { BoxId } from '../../core/boxes/index.ts'
import type { Secret } from '../../core/kit/index.ts'

/** Address and secret of a chat server's platform listener, at the edge of its box. */
export type ChatTarget = Readonly<{
  boxId: BoxId
  chatDomain: string
  origin: string
  edgeSecret: Secret
  /** Reported by the agent: the box takes no writes. */
  fenced: boolean
  /** The box is one of the demo: no chat server may be at its address. */
  simulated: boolean
}>
