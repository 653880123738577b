/** Settings of the agent for boxes on this host. */
export type BoxSettings = Readonly<{
  /** Parent of the box folders, which are named by slug. */
  boxesFolder: string
  /** Prefix of compose project names; default `box-`. Agents that share an engine need different prefixes. */
  projectPrefix?: string
  templateFolder: string
  allowedImages: readonly string[]
  /** Allowed registry mirrors, as `registry=mirror`; default none. */
  allowedMirrors?: readonly string[]
  binds: Readonly<{ public: string; platform: string }>
  maxUploadMegabytes: number
}>
