import { Fragment } from 'react'

/** A name that breaks only after its separators: `session.` `opened`, `registry/` `image:` `tag`. */
export const Breakable = ({ children }: Readonly<{ children: string }>) =>
  children.split(/(?<=[./:_@])/).map((part, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text
    <Fragment key={at}>
      {at > 0 && <wbr />}
      {part}
    </Fragment>
  ))
