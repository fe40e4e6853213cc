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
 * All tables at once. Made one by one when they are first needed, as Hive would, on PostgreSQL the first drop of a
 * database waits for ever for a lock that its own transaction holds. What is there already stays.
 */
object MetastoreSchema {
  private val mapping = "/package.jdo"
  /** Each block is a transaction of its own. What is left of one when the process ends is never used. */
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

  /** For ids of this kind there is no property: five are taken at once. */
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
