import { type BinaryOperationNode, type LimitNode, type OperationNode, SqliteQueryCompiler, ValueNode } from 'kysely'

// Where a value may decide how SQLite goes about a statement, it looks at what is bound: how many rows are wanted, and whether a partial index
// (`where live = 1`) holds what is asked for. Such a statement it plans anew each time it is said, which costs several times what running it does.
// These values are few, so they stand in the text: it is planned once, and as well.

/** SQL for SQLite, with flags that are compared with and limits as literals. */
export class UnpeekedCompiler extends SqliteQueryCompiler {
  protected override visitBinaryOperation(node: BinaryOperationNode): void {
    const flag = numberOf(node.rightOperand)
    if (flag === 0 || flag === 1) {
      this.visitNode(node.leftOperand)
      this.append(' ')
      this.visitNode(node.operator)
      this.append(` ${flag}`)
    } else super.visitBinaryOperation(node)
  }

  protected override visitLimit(node: LimitNode): void {
    const limit = numberOf(node.limit)
    if (limit === undefined) super.visitLimit(node)
    else this.append(`limit ${limit}`)
  }
}

function numberOf(node: OperationNode): number | undefined {
  const value = ValueNode.is(node) ? node.value : undefined
  return Number.isSafeInteger(value) ? (value as number) : undefined
}
