package headgate.program

import scala.reflect.internal.util.{Position, SourceFile}
import scala.tools.nsc.Global
import scala.tools.nsc.ast.parser.Tokens
import scala.tools.nsc.reporters.StoreReporter

/** The kind of a source text, see [[ScalaProgram]]. */
sealed trait ProgramText
case object Definitions extends ProgramText
final case class Statements(statements: Seq[Statement]) extends ProgramText
final case class Broken(errors: Seq[(Position, String)]) extends ProgramText

/** One statement, or several that must be compiled together. Lines count from 1. */
final case class Statement(text: String, line: Int)

private sealed trait StatementKind
private case object Imports extends StatementKind
/** Joined, because a class and its companion must be compiled together. */
private case object Classes extends StatementKind
private case object Other extends StatementKind

private final case class Cut(start: Int, end: Int, kind: StatementKind)

/** Uses the compiler's parser. Reading line by line, as a shell does, would break at a line that starts with a dot. */
final class ProgramReader(val global: Global) {
  import global._

  def read(source: SourceFile): ProgramText = {
    new Run // the parser reads the Scala version from it
    val (unit, unitErrors) = parse(source)(_.parse())
    if (unitErrors.isEmpty && hasDefinition(unit)) Definitions
    else {
      val (cuts, statementErrors) = parse(source)(cutStatements)
      if (statementErrors.isEmpty) Statements(join(source, cuts))
      // Reports the errors of the attempt that got further, which is probably what the author meant.
      else Broken(Seq(unitErrors, statementErrors).filter(_.nonEmpty).maxBy(_.head._1.start))
    }
  }

  private type Errors = Seq[(Position, String)]

  private def parse[T](source: SourceFile)(read: syntaxAnalyzer.UnitParser => T): (T, Errors) = {
    val heard = new StoreReporter(settings)
    val usual = reporter
    reporter = heard
    try {
      val result = read(newUnitParser(new CompilationUnit(source)))
      (result, heard.infos.toSeq.filter(_.severity == heard.ERROR).map(info => (info.pos, info.msg)))
    } finally reporter = usual
  }

  private def hasDefinition(unit: Tree): Boolean = unit match {
    case PackageDef(_, members) => members.exists(hasDefinition)
    case _: ImplDef => true
    case _ => false
  }

  private def cutStatements(parser: syntaxAnalyzer.UnitParser): Seq[Cut] = {
    val cuts = Seq.newBuilder[Cut]
    while (!parser.isStatSeqEnd) {
      val start = parser.in.offset
      val trees = parser.templateStat.applyOrElse(parser.in.token, (_: Int) => refuse(parser))
      if (trees.nonEmpty) cuts += Cut(start, parser.in.lastOffset, kindOf(trees))
      parser.acceptStatSepOpt()
    }
    parser.accept(Tokens.EOF)
    cuts.result()
  }

  private def refuse(parser: syntaxAnalyzer.UnitParser): List[Tree] = {
    if (!parser.isStatSep) {
      parser.syntaxError(parser.in.offset, "illegal start of a statement", Nil)
      parser.in.nextToken()
    }
    Nil
  }

  private def kindOf(trees: List[Tree]): StatementKind = trees match {
    case all if all.forall(_.isInstanceOf[Import]) => Imports
    case all if all.forall(_.isInstanceOf[ImplDef]) => Classes
    case _ => Other
  }

  private def join(source: SourceFile, cuts: Seq[Cut]): Seq[Statement] = {
    val joined = cuts.foldLeft(Vector.empty[Cut]) { (done, cut) =>
      done.lastOption match {
        case Some(last) if last.kind == cut.kind && cut.kind != Other => done.init :+ last.copy(end = cut.end)
        case _ => done :+ cut
      }
    }
    joined.map(cut => Statement(new String(source.content.slice(cut.start, cut.end)), source.offsetToLine(cut.start) + 1))
  }
}
