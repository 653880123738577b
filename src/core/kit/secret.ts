const inspect = Symbol.for('nodejs.util.inspect.custom')

/** A value that prints as `[secret]` in logs, JSON, templates and debuggers; `reveal()` is the only way to it. */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  reveal(): string {
    return this.#value
  }

  toString(): string {
    return '[secret]'
  }

  toJSON(): string {
    return '[secret]'
  }

  [inspect](): string {
    return '[secret]'
  }
}

export const secret = (value: string): Secret => new Secret(value)
