package headgate.metastore

import java.util.Properties
import javax.xml.XMLConstants
import javax.xml.parsers.DocumentBuilderFactory

import scala.jdk.CollectionConverters._

import org.apache.hadoop.hive.conf.HiveConf
import org.apache.hadoop.hive.metastore.ObjectStore
import org.datanucleus.NucleusContext
import org.datanucleus.api.jdo.JDOPersistenceManagerFactory
import org.datanucleus.store.schema.SchemaAwareStoreManager
import org.w3c.dom.Element

/**
 * Creates all missing tables at the start. Hive would create each table when it is first needed; on PostgreSQL the first
 * drop of a database then waits forever for a lock that its own transaction holds.
 */
object MetastoreSchema {
  private val mapping = "/package.jdo"
  /** Each block of ids takes a transaction. Unused ids of a block are lost when the process ends. */
  private val idsOfBlock = "500"

  def create(conf: HiveConf): Unit = {
    val store = new ObjectStore
    store.setConf(conf)
    try {
      val factory = store.getPersistenceManager.getPersistenceManagerFactory.asInstanceOf[JDOPersistenceManagerFactory]
      val context = factory.getNucleusContext
      val classes = persistentClasses()
      context.getStoreManager.asInstanceOf[SchemaAwareStoreManager].createSchemaForClasses(classes.asJava, new Properties)
      for (name <- classes) enlargeIdBlocks(context, name)
    } finally store.shutdown()
  }

  /** There is no property for the block size of these ids; the default is five. */
  private def enlargeIdBlocks(context: NucleusContext, name: String): Unit = {
    val described = context.getMetaDataManager.getMetaDataForClass(name, context.getClassLoaderResolver(null))
    Option(described.getIdentityMetaData).foreach(_.addExtension("key-cache-size", idsOfBlock))
  }

  private def persistentClasses(): Set[String] = {
    val factory = DocumentBuilderFactory.newInstance()
    factory.setFeature("http://apache.org/xml/features/nonvalidating/load-external-dtd", false)
    factory.setAttribute(XMLConstants.ACCESS_EXTERNAL_DTD, "")
    val source = classOf[ObjectStore].getResourceAsStream(mapping)
    val classes =
      try factory.newDocumentBuilder().parse(source).getElementsByTagName("class")
      finally source.close()
    (0 until classes.getLength).map { at =>
      val element = classes.item(at).asInstanceOf[Element]
      val folder = element.getParentNode.asInstanceOf[Element].getAttribute("name")
      s"$folder.${element.getAttribute("name")}"
    }.toSet
  }
}
